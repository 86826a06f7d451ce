"""Compares a mechanism with others: puts it on the board of its guarantee, runs what is missing, and gives its rank.

The code behind `python -m dpbench compare` and `dpbench.compare`. Prints nothing. May call the engine and the audit; imports no
mechanism by name.
"""

from __future__ import annotations

import html
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.compare.boards import Board, board_of_mechanism
from dpbench.config import catalogue
from dpbench.config.compose import compose
from dpbench.config.entries import BOUND, variants
from dpbench.config.schema import RunConfig
from dpbench.config.words import Value
from dpbench.engine.plan import Plan, make_plan
from dpbench.engine.runner import Result, execute
from dpbench.engine.suite import QUIET
from dpbench.errors import Failed, UserError, nearest, unknown
from dpbench.mechanisms.base import MECHANISMS
from dpbench.results.run import DatasetUse, Run, Variant
from dpbench.results.setting import DECLARED
from dpbench.results.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from dpbench.audit.finding import Finding

EXPERIMENTS = {"incidence": "cross/leaderboard", "records": "cross/leaderboard", "contingency": "cross/ranges"}
"""The experiment in which mechanisms are compared, by the first kind of data that they accept, or by the kind of the data."""
RANKINGS = "cross/topk"
Execute = Callable[[Plan, Store], Result]


@dataclass(frozen=True)
class Newcomer:
    """A mechanism that is to be compared."""

    variant: Variant
    instance: Any

    @classmethod
    def of(cls, given: str | Variant) -> Newcomer:
        """From `mine.Rounded` or `lpa(bound=3)`, or from the variant of an object.

        A bound that is not given is set to `declared` if that makes the mechanism private, so that it is on a private board.
        """
        variant = _named(given) if isinstance(given, str) else given
        if variant.declared:
            return cls(
                variant, MECHANISMS.make(variant.cls, **{**variant.params, **dict.fromkeys(variant.declared, 1)})
            )
        instance = variant.made(MECHANISMS)
        if getattr(instance, BOUND, 0) is None and BOUND not in variant.params and variant.instance is None:
            bounded = MECHANISMS.make(variant.cls, **{**variant.params, BOUND: 1})
            reads, still_reads = (board_of_mechanism(one) is Board.READS for one in (instance, bounded))
            if reads and not still_reads:
                variant = replace(variant, params={**variant.params, BOUND: DECLARED}, declared=(BOUND,))
                instance = bounded
        return cls(variant, instance)

    @property
    def board(self) -> Board:
        """The board of the mechanisms with the same guarantee."""
        return board_of_mechanism(self.instance)

    @property
    def experiment(self) -> str:
        """The experiment in which it is compared."""
        kinds = tuple(getattr(self.instance, "kinds", ("incidence",)))
        publish = getattr(type(self.instance), "publish", None) or type(self.instance).release
        if "TopK" in str(inspect.signature(publish).return_annotation):
            return RANKINGS
        for kind in kinds:
            if kind in EXPERIMENTS:
                return EXPERIMENTS[kind]
        raise UserError(f"{self.variant.name} takes {' or '.join(kinds)} data, which no board compares")


def _named(text: str) -> Variant:
    """The mechanism named by `mine.Rounded`, `lpa(bound=3)` or the name of a YAML, whose parameters are the defaults."""
    from dpbench.audit.judge import parsed

    name, given = parsed(text)
    names = MECHANISMS.names()
    in_files = [one for one in catalogue.options("mechanism") if one not in names]
    if "." not in name and name not in (*names, *in_files):
        raise unknown("mechanism", name, [*names, *in_files])
    entry = catalogue.mechanism(name) if name in in_files else catalogue.VariantEntry(name, name)
    made = [*variants(replace(entry, parameters={**entry.parameters, **(given or {})}), MECHANISMS)]
    if len(made) > 1:
        raise UserError(f"{name} stands for {len(made)} choices of parameters: expected one, such as {name}(step=5)")
    return made[0]


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison. `who` is empty if all mechanisms were compared on a user's data."""

    run: Run
    who: str
    board: Board | None
    result: Result
    findings: Sequence[Finding] = field(default_factory=tuple)

    def __repr__(self) -> str:
        board = "all boards" if self.board is None else f"the board {self.board.value}"
        audit = f", audit: {', '.join(one.verdict for one in self.findings)}" if self.findings else ""
        return f"Comparison({self.who or 'all mechanisms'} on {board}{audit}; {self.run!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows of it: where the mechanism stands, and the table of the run."""
        table = self.ranking().to_html(index=False, border=0, na_rep="", float_format=lambda value: f"{value:.3g}")
        return f"<p>{html.escape(repr(self))}</p>{table}{self.run._repr_html_()}"

    def numbers(self) -> Any:
        """The tidy numbers of the run's boards (a DataFrame): one row per board, setting and mechanism."""
        from dpbench.figures.draw import draw

        return draw(self.run).numbers

    def ranking(self) -> pd.DataFrame:
        """One row per mechanism of the board, or of every board if none is the newcomer's: rank and regret with intervals."""
        from dpbench.compare.tables import summary

        found = summary(self.numbers(), {})
        return found if self.board is None else found[found["board"] == str(self.board)].reset_index(drop=True)

    def figure(self) -> Any:
        """The board with the newcomer highlighted."""
        from dpbench.compare.pictures import picture

        return picture(self.run, self.numbers(), self.who, self.board)


@dataclass(frozen=True)
class Where:
    """What a mechanism is compared on."""

    scale: str = "smoke"
    datasets: Sequence[str] | None = None
    """Datasets by name. None: those of the board."""
    given: tuple[DatasetUse, ...] = ()
    """Data objects passed by a program, instead of names."""
    epsilon: Sequence[float | str] | float | str | None = None
    experiment: str | None = None
    results: Path = Path("results")
    jobs: int = -1
    overrides: Mapping[str, Value] = field(default_factory=dict)
    """Other settings, such as `{"dataset.table.path": "visits.csv"}`."""

    def config(self, experiment: str) -> RunConfig:
        """The experiment on this data."""
        settings: dict[str, Value] = {"results": self.results, "runner.jobs": self.jobs, **QUIET}
        if self.datasets is not None:
            settings["dataset"] = [*self.datasets]
        if self.epsilon is not None:
            settings["epsilon"] = [self.epsilon] if isinstance(self.epsilon, str | float | int) else [*self.epsilon]
        config = compose(experiment, self.scale, {**settings, **self.overrides})
        return replace(config, datasets=self.given) if self.given else config


def compare(
    mechanism: str | Variant | None, where: Where, *, audit: bool = True, carry_out: Execute = execute
) -> Comparison:
    """Compare a mechanism with those of the same guarantee. Without one, compare all mechanisms on the data of `where`."""
    newcomer = None if mechanism is None else Newcomer.of(mechanism)
    if newcomer is None and where.datasets is None and not where.given:
        raise UserError("nothing to compare: give a mechanism, such as mine.Rounded, or a dataset")
    experiment = where.experiment or (newcomer.experiment if newcomer else _experiment_of_data(where))
    plan = make_plan(_joined(where.config(experiment), newcomer))
    _require(plan, newcomer)
    plan.run.save()
    result = carry_out(plan, Store(plan.run.results))
    if result.failed and not result.computed and not result.found:
        raise Failed(f"every trial failed: {next(iter(result.failures.values()))[0].error}")
    findings = tuple(_audited(newcomer)) if newcomer and audit else ()
    return Comparison(
        plan.run, newcomer.variant.name if newcomer else "", newcomer.board if newcomer else None, result, findings
    )


def _experiment_of_data(where: Where) -> str:
    """The experiment for the kind of the first dataset. A name that is not known is refused later, with the nearest one."""
    kind = where.given[0].kind if where.given else ""
    for name in [*(where.datasets or ())][:1]:
        if name in catalogue.options("dataset"):
            kind = str(where.overrides.get(f"dataset.{name}.kind") or catalogue.dataset(name).kind)
    if kind and kind not in EXPERIMENTS:
        raise UserError(f"no board compares mechanisms for {kind} data: expected {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[kind or "incidence"]


def _joined(config: RunConfig, newcomer: Newcomer | None) -> RunConfig:
    """The run with only the newcomer and the mechanisms of its board, under its own name."""
    if newcomer is None:
        names = "-".join(dict.fromkeys(use.name for use in config.datasets))
        return replace(config, name=f"compare/{names}"[:100], changes=(), altered=())
    name = newcomer.variant.name
    members = tuple(one for one in config.mechanisms if _of_board(one, newcomer.board) and one.name != name)
    added = f"{name} on the board of those with the guarantee {newcomer.board}"
    mechanisms = (*members, newcomer.variant)
    return replace(config, name=f"compare/{name}", mechanisms=mechanisms, changes=(added,), altered=())


def _of_board(variant: Variant, board: Board) -> bool:
    """Whether a variant of the experiment belongs to a board. A declared bound counts as a number."""
    return (
        board_of_mechanism(MECHANISMS.make(variant.cls, **{**variant.params, **dict.fromkeys(variant.declared, 1)}))
        is board
    )


def _require(plan: Plan, newcomer: Newcomer | None) -> None:
    """UserError if no setting is left for the newcomer or, without a newcomer, no setting at all."""
    names = {setting.mechanism.name for setting in plan.run.settings}
    wanted = newcomer.variant.name if newcomer else ""
    if names and (not wanted or wanted in names):
        return
    reasons = dict.fromkeys(reason for place, reason in plan.run.left_out if place.startswith(wanted))
    raise UserError(f"{wanted or 'nothing'} fits none of the settings: {'; '.join(reasons) or nearest(wanted, names)}")


def _audited(newcomer: Newcomer) -> Iterator[Finding]:
    """The findings of a short audit of the newcomer. A declared bound is replaced by a small one: pairs have small rows."""
    from dpbench.audit.judge import Chosen, Options, findings

    instance = newcomer.instance
    if newcomer.variant.declared:
        params = {**newcomer.variant.params, **dict.fromkeys(newcomer.variant.declared, 3)}
        instance = MECHANISMS.make(newcomer.variant.cls, **params)
    chosen = Chosen(newcomer.variant.name, instance)
    yield from findings([chosen], Options(pairs=100, seconds=15.0))


__all__ = ["Comparison", "Newcomer", "Where", "compare"]
