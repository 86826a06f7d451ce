"""Compares a mechanism with others: puts it on the board of its guarantee, runs what is missing, and gives its rank.

The code behind `python -m dpbench compare` and `dpbench.compare`. Prints nothing. May call the engine and the audit; imports no
mechanism by name.
"""

from __future__ import annotations

import hashlib
import html
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from dpbench.auditing.cache import store
from dpbench.config import catalogue
from dpbench.config.compose import compose
from dpbench.config.entries import BOUND, variants
from dpbench.config.overrides import OverrideValue
from dpbench.config.schema import RunConfig
from dpbench.engine.execute import Result
from dpbench.engine.plan import QUIET, Plan, make_plan
from dpbench.engine.progress import Progress
from dpbench.errors import Failed, UserError, nearest, unknown
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.run import Dataset, Run, Variant
from dpbench.model.setting import DECLARED, TABLE
from dpbench.ranking.boards import Board, board_of_mechanism
from dpbench.ranking.rounds import execute_one, view_named

if TYPE_CHECKING:
    import pandas as pd

    from dpbench.model.finding import Finding

EXPERIMENTS = {"incidence": "cross/leaderboard", "records": "cross/leaderboard", "contingency": "cross/ranges"}
"""The experiment in which mechanisms are compared, by the first kind of data that they accept, or by the kind of the data."""
RANKINGS = "cross/topk"
LONGEST = 100  # characters of a name of a comparison
COLUMNS = ("user", "item", "context", "cell", "count", "shape", "header", "on_bad_line")
"""Parameters of a user's table that are part of a comparison's name."""


def newcomer(given: str | Variant) -> Variant:
    """The mechanism that is to be compared, from `mine.Rounded` or `lpa(bound=3)`, or from the variant of an object.

    A bound that is not given is set to `declared` if that makes the mechanism private, so that it is on a private board.
    """
    variant = _named(given) if isinstance(given, str) else given
    if variant.declared or variant.instance is not None or BOUND in variant.params:
        return variant
    if getattr(variant.make(MECHANISMS), BOUND, 0) is not None:
        return variant
    bounded = replace(variant, params={**variant.params, BOUND: DECLARED}, declared=(BOUND,))
    reads = board_of(variant) is Board.READS and board_of(bounded) is not Board.READS
    return bounded if reads else variant


def board_of(variant: Variant) -> Board:
    """The board of the mechanisms with the same guarantee. A declared bound counts as a number."""
    return board_of_mechanism(variant.with_bound(1).make(MECHANISMS))


def experiment_of(variant: Variant) -> str:
    """The experiment in which a mechanism is compared."""
    mechanism = variant.with_bound(1).make(MECHANISMS)
    kinds = tuple(getattr(mechanism, "kinds", ("incidence",)))
    publish = getattr(type(mechanism), "publish", None) or type(mechanism).release
    if "TopK" in str(inspect.signature(publish).return_annotation):
        return RANKINGS
    for kind in kinds:
        if kind in EXPERIMENTS:
            return EXPERIMENTS[kind]
    raise UserError(f"{variant.name} takes {' or '.join(kinds)} data, which no board compares")


def _named(text: str) -> Variant:
    """The mechanism named by `mine.Rounded`, `lpa(bound=3)` or the name of a YAML, whose parameters are the defaults."""
    from dpbench.auditing.judge import parsed

    name, given = parsed(text)
    names = MECHANISMS.names()
    in_files = [option for option in catalogue.options("mechanism") if option not in names]
    if "." not in name and name not in (*names, *in_files):
        raise unknown("mechanism", name, [*names, *in_files])
    entry = catalogue.mechanism(name) if name in in_files else Variant(name, name)
    choices = [*variants(replace(entry, params={**entry.params, **(given or {})}), MECHANISMS)]
    if len(choices) > 1:
        raise UserError(f"{name} stands for {len(choices)} choices of parameters: expected one, such as {name}(step=5)")
    return choices[0]


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison. `who` is empty if all mechanisms were compared on a user's data."""

    run: Run
    who: str
    board: Board | None
    result: Result
    findings: Sequence[Finding] = field(default_factory=tuple)
    metric: str = ""
    """The metric that ranks; empty: the board's own."""

    def __repr__(self) -> str:
        board = "all boards" if self.board is None else f"the board {self.board.value}"
        audit = f", audit: {', '.join(finding.verdict for finding in self.findings)}" if self.findings else ""
        return f"Comparison({self.who or 'all mechanisms'} on {board}{audit}; {self.run!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows of it: where the mechanism stands, and the table of the run."""
        table = self.ranking().to_html(index=False, border=0, na_rep="", float_format=lambda value: f"{value:.3g}")
        return f"<p>{html.escape(repr(self))}</p>{table}{self.run._repr_html_()}"

    def numbers(self) -> pd.DataFrame:
        """The tidy numbers of the run's boards (a DataFrame): one row per board, setting and mechanism."""
        return view_named(self.run.experiment).ranked_by(self.metric).numbers(self.run.trials(), self.run)

    def ranking(self) -> pd.DataFrame:
        """One row per mechanism of the board, or of every board if none is the newcomer's: rank and regret with intervals."""
        from dpbench.ranking.tables import summary

        ranked = summary(self.numbers(), {})
        return ranked if self.board is None else ranked[ranked["board"] == str(self.board)].reset_index(drop=True)

    def figure(self) -> Any:
        """The board with the newcomer highlighted."""
        from dpbench.figures.draw import for_program
        from dpbench.ranking.pictures import picture

        view = view_named(self.run.experiment)
        return for_program(picture(self.run, self.numbers(), self.who, self.board, view, self.metric))


@dataclass(frozen=True)
class Where:
    """What a mechanism is compared on."""

    scale: str = "smoke"
    datasets: Sequence[str] | None = None
    """Datasets by name. None: those of the board."""
    given: tuple[Dataset, ...] = ()
    """Data objects passed by a program, instead of names."""
    epsilon: Sequence[float | str] | float | str | None = None
    experiment: str | None = None
    results: Path = Path("results")
    jobs: int = -1
    overrides: Mapping[str, OverrideValue] = field(default_factory=dict)
    """Other settings, such as `{"dataset.table.path": "visits.csv"}`."""
    bound: int | None = None
    """The most columns of one row that are declared for the user's own data."""
    metric: str = ""
    """The metric that ranks the mechanisms. Empty: the one of the board."""

    def config(self, experiment: str) -> RunConfig:
        """The experiment on this data. A table of the user is called by the name of its file."""
        settings: dict[str, OverrideValue] = {"results": self.results, "runner.jobs": self.jobs, **QUIET}
        if self.datasets is not None:
            settings["dataset"] = [*self.datasets]
        if self.epsilon is not None:
            settings["epsilon"] = [self.epsilon] if isinstance(self.epsilon, str | float | int) else [*self.epsilon]
        config = compose(experiment, self.scale, {**settings, **self.overrides})
        uses = [replace(use, name=label_of(use)) for use in self.given or config.datasets]
        if self.bound is not None:
            uses = [replace(use, bound=self.bound) for use in uses]
        # The first look stops mechanisms that are out of reach by the board's own metric, and may be good by another one.
        look = 0 if self.metric and self.metric != view_named(experiment).metric else config.look
        return replace(config, datasets=tuple(uses), look=look)


def compare(
    mechanism: str | Variant | None, where: Where, *, audit: bool = True, progress: Progress | None = None
) -> Comparison:
    """Compare a mechanism with those of the same guarantee. Without one, compare all mechanisms on the data of `where`."""
    variant = None if mechanism is None else newcomer(mechanism)
    if variant is None and where.datasets is None and not where.given:
        raise UserError("nothing to compare: give a mechanism, such as mine.Rounded, or a dataset")
    experiment = where.experiment or (experiment_of(variant) if variant else experiment_of_data(where))
    progress = progress or Progress()
    view_named(experiment).ranked_by(where.metric)  # wrong names are refused before anything runs
    plan = make_plan(joined(where, experiment, variant), say=progress.prepare)
    _require(plan, variant)
    findings = tuple(audited(variant)) if audit and variant else ()
    if findings:  # boards of this folder mark a violation, also without another audit, and no rival stops because of it
        store(where.results, findings, 0, anew=False)
    result = execute_one(plan, progress)
    if result.failed and not result.computed and not result.found:
        raise Failed(f"every trial failed: {next(iter(result.failures.values()))[0].error}")
    if variant is None:
        return Comparison(result.run, "", None, result, metric=where.metric)
    return Comparison(result.run, variant.name, board_of(variant), result, findings, where.metric)


def experiment_of_data(where: Where) -> str:
    """The experiment for the kind of the first dataset. A name that is not known is refused later, with the nearest one."""
    kind = where.given[0].kind if where.given else ""
    for name in [*(where.datasets or ())][:1]:
        if name in catalogue.options("dataset"):
            kind = str(where.overrides.get(f"dataset.{name}.kind") or catalogue.dataset(name).kind)
    if kind and kind not in EXPERIMENTS:
        raise UserError(f"no board compares mechanisms for {kind} data: expected {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[kind or "incidence"]


def joined(where: Where, experiment: str, variant: Variant | None) -> RunConfig:
    """The run with only the newcomer and the mechanisms of its board, under a name that says what is compared on what."""
    config = where.config(experiment)
    chosen = config.datasets if where.datasets or where.given else ()
    name = f"compare/{name_of(variant, chosen, where.bound, where.epsilon, where.experiment or '')}"
    if variant is None:
        return replace(config, name=name, changes=(), altered=())
    board = board_of(variant)
    members = tuple(member for member in config.mechanisms if board_of(member) is board and member.name != variant.name)
    added = f"{variant.name} on the board of those with the guarantee {board}"
    return replace(config, name=name, mechanisms=(*members, variant), changes=(added,), altered=())


def _require(plan: Plan, variant: Variant | None) -> None:
    """UserError if no setting is left for the newcomer or, without a newcomer, no setting at all."""
    names = {setting.mechanism.name for setting in plan.run.settings}
    wanted = variant.name if variant else ""
    if names and (not wanted or wanted in names):
        return
    reasons = dict.fromkeys(reason for where, reason in plan.run.left_out if where.startswith(wanted))
    raise UserError(f"{wanted or 'nothing'} fits none of the settings: {'; '.join(reasons) or nearest(wanted, names)}")


def audited(variant: Variant) -> Iterator[Finding]:
    """The findings of a short audit of the newcomer. A declared bound is replaced by a small one: pairs have small rows."""
    from dpbench.auditing.judge import AuditedVariant, Options, findings

    chosen = AuditedVariant(variant.name, variant.with_bound(3).make(MECHANISMS))
    yield from findings([chosen], Options(pairs=100, seconds=15.0))


# Names.


def label_of(use: Dataset) -> str:
    """The name of a dataset in a comparison: a user's table goes by the name of its file."""
    if use.source != TABLE or use.name != TABLE:
        return use.name
    stem = PurePath(str(use.params.get("path", ""))).name.partition(".")[0]
    return re.sub(r"\W+", "_", stem).strip("_") or TABLE


def name_of(
    variant: Variant | None,
    uses: Sequence[Dataset],
    bound: int | None,
    epsilon: Sequence[float | str] | float | str | None,
    board: str,
) -> str:
    """The name of a comparison, such as `mine.Rounded-step5-on-visits-bound20-epsilon0.5`. `uses`: datasets that were chosen;
    `board`: if it was. Two that differ in anything but their scale and their trials have different names, so that neither
    replaces the run or the figure of the other."""
    parts: list[str] = []
    if variant is not None:
        given = {
            key: value for key, value in variant.params.items() if value != DECLARED and key not in variant.declared
        }
        parts += [variant.name, *(f"{key}{value}" for key, value in given.items())]
    names = list(dict.fromkeys(use.name for use in uses))
    parts += ["on", *names] if variant and names else names
    tables = [use for use in uses if use.source == TABLE]
    parts += [f"{key}.{use.params[key]}" for use in tables[:1] for key in COLUMNS if use.params.get(key)]
    parts += [f"bound{bound}"] if bound is not None else []
    budgets = [epsilon] if isinstance(epsilon, str | float | int) else [*(epsilon or ())]
    parts += ["epsilon" + "-".join(map(str, budgets))] if budgets else []
    parts += [board.rpartition("/")[2]] if board else []
    whole = "-".join(parts)
    name = re.sub(r"[^\w.-]+", "_", whole)
    if len(name) <= LONGEST:
        return name
    mark = hashlib.blake2b(whole.encode(), digest_size=3).hexdigest()
    return f"{name[: LONGEST - 7].rstrip('-.')}-{mark}"
