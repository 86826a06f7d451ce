"""Verdicts of the audit as a baseline: a mechanism that held and no longer does fails `check`. Imported by the verb.

`audit.tsv` in the folder of the baselines has one line per mechanism and choice of parameters. Without it nothing is audited.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpbench.errors import UserError
from dpbench.gate import lines
from dpbench.model.finding import Finding

FILE = "audit.tsv"
HEAD = ("mechanism", "parameters", "forms", "verdict")
RANKS = {"violated": 0, "inconclusive": 1, "declared not private": 2, "holds": 2}
"""A verdict of a smaller number is worse."""


def audit_findings() -> list[Finding]:
    """What `audit` finds about all mechanisms with its defaults; from the cache if the code is the same."""
    from dpbench.auditing.judge import EPSILONS, Options, chosen
    from dpbench.auditing.parallel import findings_of_all
    from dpbench.mechanisms.base import MECHANISMS

    return list(findings_of_all(chosen(MECHANISMS.names()), Options(EPSILONS[0], epsilons=EPSILONS)))


def write_verdicts(folder: Path, findings: Sequence[Finding]) -> Path:
    rows = ((finding.mechanism, finding.parameters, finding.forms, finding.verdict) for finding in findings)
    return lines.write(folder / FILE, HEAD, rows)


def fallen(folder: Path, findings: Sequence[Finding]) -> list[str]:
    """The mechanisms whose verdict is worse than in the baseline, of which a form is no longer audited, or which are gone."""
    now = {(found.mechanism, found.parameters): found for found in findings}
    worse = []
    for name, parameters, forms, verdict in lines.read(folder / FILE, HEAD, "`check --update` writes it"):
        if verdict not in RANKS:
            raise UserError(f"{folder / FILE} is not valid: {verdict!r} is no verdict; `check --update` writes it")
        what = f"{name}({parameters})"
        finding = now.get((name, parameters))
        if finding is None:
            worse.append(f"{what}: {verdict} in the baseline, no longer audited")
        elif RANKS[finding.verdict] < RANKS[verdict]:
            reason = f": {finding.reason}" if finding.reason else ""
            worse.append(f"{what}: {verdict} in the baseline, now {finding.verdict}{reason}")
        elif missing := {*forms.split(", ")} - {*finding.forms.split(", ")} - {""}:
            worse.append(f"{what}: its {' and '.join(sorted(missing))} form is no longer audited")
    return worse
