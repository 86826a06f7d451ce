"""`dpbench.audit`: how much privacy mechanisms lose, as a result that a program or a test can ask."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpbench.config import catalogue
from dpbench.config.catalogue import own_folders
from dpbench.data import Data
from dpbench.errors import UserError, positive
from dpbench.model.finding import Finding

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("mechanism", "parameters", "method", "guarantee", "epsilon", "loss", "verdict", "pair", "step", "reason")
"""The columns that a notebook shows."""


@dataclass(frozen=True)
class Audit:
    """What an audit found: one finding per mechanism and choice of parameters. It is true only if all of them hold.

    >>> import dpbench
    >>> found = dpbench.audit("lpa(bound=3)", pairs=10)
    >>> found.holds, found.violated, bool(found)
    (True, False, True)
    """

    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether every stated guarantee held on all pairs. False also where nothing can be said."""
        return bool(self.findings) and all(finding.verdict == "holds" for finding in self.findings)

    @property
    def violated(self) -> bool:
        """Whether a mechanism breaks the guarantee that it states."""
        return any(finding.verdict == "violated" for finding in self.findings)

    def table(self) -> pd.DataFrame:
        """One row per finding: the mechanism, the loss, the verdict, and the pair and step that show it."""
        import pandas as pd

        return pd.DataFrame([vars(finding) | {"violated": finding.verdict == "violated"} for finding in self.findings])

    def problems(self) -> list[str]:
        """One sentence per finding that does not hold, with its pair, step and loss."""
        return [describe(finding) for finding in self.findings if finding.verdict != "holds"]

    def __bool__(self) -> bool:
        return self.holds

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __repr__(self) -> str:
        return f"Audit({'; '.join(map(describe, self.findings))})"

    def _repr_html_(self) -> str:
        table = self.table()
        text: str = table[[name for name in SHOWN if name in table]].to_html(index=False, border=0, na_rep="")
        return f"<p>{html.escape('holds' if self else 'does not hold, or nothing can be said')}</p>{text}"


def describe(finding: Finding) -> str:
    """A finding as one sentence."""
    who = f"{finding.mechanism}({finding.parameters})" if finding.parameters else finding.mechanism
    if finding.verdict == "holds":
        return f"{who} holds on {finding.pairs} pairs: loss {finding.loss:.4g} at ε = {finding.epsilon:.4g}"
    loss = "infinite" if math.isinf(finding.loss) else f"{finding.loss:.4g}"
    sign = "at least " if finding.method == "sequential test" else ""
    told = f"loss {sign}{loss} at a stated ε = {finding.epsilon:.4g}"
    where = [f"pair: {finding.pair}" if finding.pair else "", f"step: {finding.step}" if finding.step else ""]
    return "; ".join(filter(None, [f"{who} is {finding.verdict}: {told}", *where, finding.reason]))


def check_limits(pairs: int | None, seconds: float | None, delta: float | None) -> None:
    """UserError for limits of an audit that are not valid."""
    if pairs is not None:
        positive("pairs", pairs, whole=True)
    if seconds is not None:
        positive("seconds", seconds)
    if delta is not None and not 0 <= delta < 1:
        raise UserError(f"delta={delta!r} is not valid: expected a number from 0 to below 1")


def audit(
    mechanism: Any,
    *,
    epsilon: float | str = 1.0,
    delta: float | None = None,
    pairs: int | Sequence[tuple[Data, Data]] | None = None,
    seconds: float | None = None,
    seed: int = 0,
) -> Audit:
    """How much privacy a mechanism loses on pairs of neighbouring data, and whether it keeps its stated guarantee.

    `mechanism`: a name such as "lpa(bound=3)", a dotted path, an object or a class with `release`, or a list of these.
    `pairs`: how many random pairs, or your own: (data, the same data with one more row at the end). The result is true if
    every guarantee holds; `.table()` has one row per mechanism and choice of parameters.

    >>> import dpbench
    >>> set(dpbench.audit("lpa(bound=3)", pairs=10).table()["verdict"])
    {'holds'}
    """
    from dpbench.auditing.judge import Options, findings, given, named
    from dpbench.auditing.neighbours import Neighbours
    from dpbench.mechanisms.base import parse_epsilon

    count, own = (pairs, None) if pairs is None or isinstance(pairs, int) else (None, pairs)
    check_limits(count, seconds, delta)
    if own is not None and not all(isinstance(data, Data) for pair in own for data in pair):
        raise UserError("pairs: expected a number, or pairs of data (before, after), such as two dpbench.Incidence")
    listed: Sequence[Any] = mechanism if isinstance(mechanism, list | tuple) else [mechanism]
    catalogue.use(*own_folders())
    asked = [subject for thing in listed for subject in (named(thing) if isinstance(thing, str) else [given(thing)])]
    neighbours = None if own is None else [Neighbours(f"your pair {i}", *pair) for i, pair in enumerate(own)]
    return Audit(tuple(findings(asked, Options(parse_epsilon(epsilon), delta, count, seconds, seed), neighbours)))
