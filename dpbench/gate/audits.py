"""Verdicts of the audit as a baseline: a mechanism that held and no longer does fails `check`. Imported by the verb.

`audit.tsv` in the folder of the baselines has one line per mechanism and choice of parameters. Without it nothing is audited.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpbench.errors import UserError
from dpbench.model.finding import Finding
from dpbench.storage.files import write_atomic

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


def has_verdicts(folder: Path) -> bool:
    return (folder / FILE).is_file()


def write_verdicts(folder: Path, findings: Sequence[Finding]) -> Path:
    rows = [HEAD, *((one.mechanism, one.parameters, one.forms, one.verdict) for one in findings)]
    path = folder / FILE
    write_atomic(path, "".join("\t".join(row) + "\n" for row in rows).encode())
    return path


def fallen(folder: Path, findings: Sequence[Finding]) -> list[str]:
    """The mechanisms whose verdict is worse than in the baseline, of which a form is no longer audited, or which are gone."""
    path, lines = folder / FILE, []
    now = {(one.mechanism, one.parameters): one for one in findings}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        row = line.split("\t")
        if len(row) != len(HEAD) or row[3] not in RANKS:
            raise UserError(f"{path} is not valid: expected the columns {', '.join(HEAD)}; `check --update` writes it")
        name, parameters, forms, verdict = row
        what = f"{name}({parameters})"
        finding = now.get((name, parameters))
        if finding is None:
            lines.append(f"{what}: {verdict} in the baseline, no longer audited")
        elif RANKS[finding.verdict] < RANKS[verdict]:
            reason = f": {finding.reason}" if finding.reason else ""
            lines.append(f"{what}: {verdict} in the baseline, now {finding.verdict}{reason}")
        elif missing := {*forms.split(", ")} - {*finding.forms.split(", ")} - {""}:
            lines.append(f"{what}: its {' and '.join(sorted(missing))} form is no longer audited")
    return lines
