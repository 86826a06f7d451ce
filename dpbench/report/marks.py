"""Which names in an experiment's tables get a privacy mark, and the notes on privacy of an experiment.

Imported by `experiment`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpbench.figures import style
from dpbench.model.run import UNSTATED, Run, Value
from dpbench.report.tables import Mark

NOT_PRIVATE, IN_PART, NO_GUARANTEE = "not private", "not private in part", "no guarantee stated"
PURE = "ε"
NAMING = ("mechanism", "series", "variant")
"""Columns whose cells name a mechanism."""


@dataclass(frozen=True)
class MechanismUse:
    """A mechanism with the parameters that one run gave it."""

    name: str
    params: Mapping[str, Value]
    guarantee: str
    """`ε`, `(ε, δ)` or `not stated`."""
    not_private: str
    """Why it is not private as run; empty if it is."""


def uses_of(run: Run) -> list[MechanismUse]:
    """The mechanisms of a run, each once per choice of its parameters."""
    uses: dict[str, MechanismUse] = {}
    for setting in run.settings:
        guarantee = UNSTATED if setting.guarantee == "none" else setting.guarantee
        use = MechanismUse(setting.mechanism.name, setting.mechanism.params, guarantee, setting.not_private)
        uses.setdefault(f"{use.name} {use.params} {use.not_private}", use)
    return list(uses.values())


def default_caveat(cls: type[Any]) -> str:
    """Why an installed mechanism is not private with its default parameters; empty if it is, or if it has no defaults."""
    try:
        return str(cls().not_private())
    except TypeError:  # it has parameters without a default
        return ""


@dataclass(frozen=True)
class Note:
    """One line on privacy: the problem, then which mechanisms and why, grouped by reason."""

    what: str
    groups: tuple[tuple[tuple[str, ...], str], ...]
    warn: bool = True


class Marks:
    """The privacy marks of one run."""

    def __init__(self, uses: Sequence[MechanismUse]) -> None:
        self._uses: dict[str, list[MechanismUse]] = {}
        for use in uses:
            for known in dict.fromkeys((use.name, style.name(use.name))):
                self._uses.setdefault(known, []).append(use)
        self._only = list(uses) if len({use.name for use in uses}) == 1 else []

    def head(self, column: str) -> Mark | None:
        """The mark of a column's title: some tables have one column per mechanism."""
        return _mark(self._uses.get(column, []))

    def cell(self, column: str, row: Mapping[str, Any]) -> Mark | None:
        """The mark of the mechanism that this cell names, with the parameters that the row shows."""
        if column not in NAMING or not isinstance(row[column], str):
            return None
        return _mark(_narrowed(self._named(row[column]), row))

    def _named(self, shown: str) -> list[MechanismUse]:
        """`GS (mean row)` is gs_mean and not gs; `Filter, dyadic` is filter."""
        shown = shown.replace(style.MARK, "")
        for known in sorted(self._uses, key=len, reverse=True):
            if shown == known or (shown.startswith(known) and shown[len(known)] in " ,("):
                return self._uses[known]
        return self._only


def notes(uses: Sequence[MechanismUse]) -> list[Note]:
    """The notes on privacy of a run: what is not private, what states no guarantee, what has a weaker one."""
    not_private: dict[str, list[str]] = {}
    guarantees: dict[str, list[str]] = {}
    for name in dict.fromkeys(use.name for use in uses):
        mine = [use for use in uses if use.name == name]
        caveats = dict.fromkeys(use.not_private for use in mine)
        for reason in filter(None, caveats):
            not_private.setdefault(reason, []).append(f"{name} in some settings" if "" in caveats else name)
        for guarantee in dict.fromkeys(use.guarantee for use in mine):
            guarantees.setdefault(guarantee, []).append(name)
    lines = []
    if not_private:
        lines.append(Note("not private as run", tuple((tuple(who), why) for why, who in not_private.items())))
    if UNSTATED in guarantees:
        lines.append(Note(NO_GUARANTEE, ((tuple(guarantees.pop(UNSTATED)), ""),)))
    for guarantee, who in guarantees.items():
        if guarantee != PURE:
            lines.append(Note(f"weaker guarantee {guarantee}", ((tuple(who), ""),), warn=False))
    return lines


def audit_notes(uses: Sequence[MechanismUse], audited: Mapping[str, str]) -> list[Note]:
    """What the audit found about the mechanisms of a comparison, grouped by verdict."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(use.name for use in uses):
        words = audited.get(name, "not audited")
        # The number of pairs is given in the section of the audit.
        groups.setdefault(words.partition(" on ")[0] if words.startswith("holds") else words, []).append(name)
    if not audited or not groups:
        return []
    broken = tuple((tuple(who), words) for words, who in groups.items() if words.startswith("violated"))
    others = tuple((tuple(who), words) for words, who in groups.items() if not words.startswith("violated"))
    lines = [Note("guarantee violated in the audit", broken)] if broken else []
    return [*lines, Note("audited", others, warn=False)] if others else lines


def _mark(uses: Sequence[MechanismUse]) -> Mark | None:
    if not uses:
        return None
    reasons = "; ".join(dict.fromkeys(use.not_private for use in uses if use.not_private))
    if reasons:
        return Mark(NOT_PRIVATE if all(use.not_private for use in uses) else IN_PART, reasons)
    if any(use.guarantee == UNSTATED for use in uses):
        return Mark(NO_GUARANTEE, "the mechanism does not say what it guarantees")
    return None


def _narrowed(uses: list[MechanismUse], row: Mapping[str, Any]) -> list[MechanismUse]:
    """The mechanisms with the parameters that a row shows. A column that fits no mechanism is not about parameters."""
    for name in dict.fromkeys(name for use in uses for name in use.params):
        for column in (f"mechanism.{name}", name):
            if column in row:
                uses = [use for use in uses if _same(row[column], use.params.get(name))] or uses
    return uses


def _same(shown: Any, value: Any) -> bool:
    try:
        return bool(shown == value) or str(shown) == str(value) or float(shown) == float(value)
    except (TypeError, ValueError):
        return False
