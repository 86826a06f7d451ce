"""The section on the audit: one row per mechanism, and all choices of parameters collapsed.

Imported by `view`. Nothing is audited here: the facts come from the file that the `audit` verb wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpbench.audit.summary import ORDER, Summary, by_mechanism, shown_loss
from dpbench.report.gather import Facts
from dpbench.report.tables import Cell, Head, Table, heads, table
from dpbench.report.text import listed
from dpbench.results.commands import audit_command


@dataclass(frozen=True)
class AuditRow:
    """A mechanism, with the result of its deciding choice of parameters."""

    mechanism: str
    method: str
    guarantee: str
    loss: str
    loss_sort: float
    verdict: str
    pairs: str
    """Number of pairs behind the verdict."""
    pair: str
    step: str
    parameters: str
    reason: str
    declared: str
    """Choices of parameters that are declared not private, and that the audit confirmed as not private."""
    known: bool
    """Whether the table of mechanisms has it."""

    anchor = ""

    @property
    def filters(self) -> Mapping[str, str]:
        return {"verdict": self.verdict, "method": self.method}


@dataclass(frozen=True)
class AuditView:
    """The section of the audit."""

    rows: tuple[AuditRow, ...]
    heads: tuple[Head, ...]
    choices: Mapping[str, Sequence[str]]
    counts: str
    made: str
    """When the audit was made, with which version, at which ε."""
    every: Table | None
    """All choices of parameters."""
    command: str


def audit_view(facts: Facts) -> AuditView:
    found = [each.finding for each in facts.audit]
    known = {mechanism.name for mechanism in facts.mechanisms}
    rows = tuple(_row(one, known) for one in by_mechanism(found))
    kinds = [verdict for verdict in ORDER if any(row.verdict == verdict for row in rows)]
    counts = [f"{verdict}: {sum(row.verdict == verdict for row in rows)}" for verdict in kinds]
    return AuditView(
        rows=rows,
        heads=heads("mechanism", "method", "states", "loss found", "verdict", "pair", "step"),
        choices={"verdict": kinds, "method": list(dict.fromkeys(row.method for row in rows))},
        counts=", ".join(counts),
        made=_made(facts),
        every=_every(facts) if found else None,
        command=audit_command(facts.results),
    )


def _row(one: Summary, known: set[str]) -> AuditRow:
    decider = one.decider
    others = [each.parameters or "the defaults" for each in one.declared]
    return AuditRow(
        mechanism=one.mechanism,
        method=decider.method,
        guarantee=_states(decider.guarantee, decider.delta),
        loss=shown_loss(decider),
        loss_sort=decider.loss,
        verdict=one.verdict,
        pairs=f"{one.pairs:,} {'pair' if one.pairs == 1 else 'pairs'}",
        pair=decider.pair,
        step=decider.step,
        parameters=decider.parameters,
        reason=decider.reason,
        declared="; ".join(others),
        known=one.mechanism in known,
    )


def _states(guarantee: str, delta: float) -> str:
    return f"(ε, {delta:.3g})" if delta else guarantee


def _made(facts: Facts) -> str:
    written = sorted({each.written for each in facts.audit})
    when = listed(list(dict.fromkeys(filter(None, [*written[:1], *written[-1:]]))))
    versions = listed(sorted({each.version for each in facts.audit}))
    budgets = listed([f"{epsilon:.4g}" for epsilon in sorted({each.finding.epsilon for each in facts.audit})])
    return f"{when}, dpbench {versions}, ε = {budgets}"


def _every(facts: Facts) -> Table:
    rows = []
    for each in facts.audit:
        one = each.finding
        loss = Cell(shown_loss(one), f"{one.loss:.9g}", number=True)
        states = _states(one.guarantee, one.delta)
        rows.append(
            [one.mechanism, one.parameters, one.method, states, one.epsilon, loss, one.verdict, one.pairs, one.reason]
        )
    names = ["mechanism", "parameters", "method", "states", "ε", "loss found", "verdict", "pairs", "why"]
    return table(names, rows, id="audit-every", caption="The audit of every choice of parameters", tall=True)
