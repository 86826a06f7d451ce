"""Which ε reaches an error: per dataset and mechanism the smallest one, with its interval, by bisection.

The budgets are those of a fixed grid, so that a second question about the same data uses the stored trials of the first.
Behind `compare --target`. May call the engine.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from dpbench.config.schema import RunConfig
from dpbench.engine.execute import execute
from dpbench.engine.plan import make_plan
from dpbench.engine.progress import Progress
from dpbench.errors import UserError, unknown
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.run import Run, Setting
from dpbench.model.setting import Dataset, Variant
from dpbench.ranking.boards import Board, board_of_mechanism
from dpbench.ranking.entry import Where, experiment_of, experiment_of_data, joined, newcomer
from dpbench.storage.frame import METRIC
from dpbench.tasks.base import TASKS

STEPS = 8
"""Budgets per doubling: neighbours differ by 9 %."""
LOWEST, HIGHEST = -10 * STEPS, 6 * STEPS
"""The grid: from 2^-10 to 2^6."""
LEVEL = 0.95


@dataclass(frozen=True)
class Target:
    """A value that a metric has to reach."""

    metric: str
    value: float

    @classmethod
    def parse(cls, text: str) -> Target:
        """From `mae=5`."""
        name, equals, value = text.partition("=")
        try:
            return cls(name.strip(), float(value if equals else ""))
        except ValueError:
            raise UserError(f"--target {text} is not valid: expected a metric and a number, such as mae=5") from None


@dataclass(frozen=True)
class ReachedTarget:
    """The smallest ε with which one mechanism reaches the target on one dataset."""

    dataset: str
    mechanism: str
    board: Board
    epsilon: float | None
    """None: not even the largest ε of the grid reaches it."""
    low: float | None
    """The lower end of its interval: the largest ε that certainly misses the target. None: no ε may reach it."""
    high: float | None
    """The upper end: the smallest ε that certainly reaches the target. None: no ε of the grid does."""
    trials: int
    reason: str = ""
    """Why nothing was run; empty if something was."""


Search = Generator[int, tuple[float, float], tuple[int | None, int | None, int | None]]


def search(target: float, direction: int, quantile: float) -> Search:
    """Bisection on the grid: yields a position, is sent mean and standard error there. Returns the first positions at which
    the mean reaches the target, may reach it, and certainly reaches it. Errors are assumed to fall as ε grows."""
    known: dict[int, tuple[float, float]] = {}
    positions: list[int | None] = []
    for shift in (0.0, -1.0, 1.0):
        low, high = LOWEST - 1, HIGHEST + 1  # missed at `low`, reached at `high`
        while high - low > 1:
            # The ends first: most searches that fail end there. Then what is known already narrows the search for free.
            middle = HIGHEST if high > HIGHEST else LOWEST if low < LOWEST else (low + high) // 2
            if middle not in known:
                known[middle] = yield middle
            mean, error = known[middle]
            if direction * (mean - target) >= shift * quantile * error:
                high = middle
            else:
                low = middle
        positions.append(high if high <= HIGHEST else None)
    return positions[0], positions[1], positions[2]


def smallest(
    mechanism: str | None, where: Where, target: Target, progress: Progress | None = None
) -> tuple[Run, list[ReachedTarget]]:
    """The smallest ε for a mechanism and those of its board or, without one, for all mechanisms. Also the run of all trials."""
    from scipy.stats import t

    progress = progress or Progress()
    variant = None if mechanism is None else newcomer(mechanism)
    experiment = where.experiment or (experiment_of(variant) if variant else experiment_of_data(where))
    config = replace(joined(where, experiment, variant), look=0)
    title = f"Budgets tried for {target.metric} = {target.value:g}"
    config = replace(config, name=config.name.replace("compare/", "target/", 1), title=title, changes=())
    direction = _direction(config, target)
    quantile = float(t.ppf((1 + LEVEL) / 2, max(1, config.trials - 1)))
    searches: dict[tuple[str, int], tuple[Search, int]] = {}
    results: list[ReachedTarget] = []
    runs: list[Run] = []
    groups: dict[str, list[Dataset]] = {}
    for use in config.datasets:
        groups.setdefault(f"{use.name}{f' ({use.world})' if use.world else ''}", []).append(use)
    for name in groups:
        for number in range(len(config.mechanisms)):
            begun = search(target.value, direction, quantile)
            searches[name, number] = begun, next(begun)
    while searches:
        progress.prepare(f"{len(searches)} searches")
        plans = {}
        for (name, number), (_, position) in searches.items():
            at = replace(config, mechanisms=(config.mechanisms[number],), datasets=tuple(groups[name]))
            at = replace(at, epsilon=(2 ** (position / STEPS),))
            plans[name, number] = make_plan(at, say=progress.prepare)
        runnable = [plan for plan in plans.values() if plan.run.settings]
        done = {id(result.plan): result for result in execute(runnable, progress)}
        for key, plan in plans.items():
            name, member = key[0], config.mechanisms[key[1]]
            result = done.get(id(plan))
            failed = "" if result is None or not result.failures else next(iter(result.failures.values()))[0].error
            frame = None if result is None else result.run.trials()
            if result is None or frame is None or METRIC + target.metric not in frame:
                reason = failed or "; ".join(dict.fromkeys(reason for _, reason in plan.run.left_out))
                nothing = _reached(name, member, (None, None, None), 0)
                results.append(replace(nothing, reason=reason or "it has no such metric"))
                del searches[key]
                continue
            runs.append(result.run)
            row = result.run.summary(["mechanism"]).iloc[0]
            mean, error = float(row[target.metric]), float(row[f"{target.metric}_se"])
            try:
                searches[key] = searches[key][0], searches[key][0].send((mean, 0.0 if error != error else error))
            except StopIteration as end:
                results.append(_reached(name, member, end.value, len(frame)))
                del searches[key]
    if not runs:
        raise UserError(f"nothing can be run: {'; '.join(dict.fromkeys(r.reason for r in results))}")
    return _whole(runs), sorted(results, key=_order)


def _direction(config: RunConfig, target: Target) -> int:
    """-1 if lower values reach the target, 1 if higher ones do."""
    task = config.tasks[0].get_class(TASKS)
    metric = task.metric(target.metric) if callable(getattr(task, "metric", None)) else None
    names = [known.name for known in getattr(task, "metrics", ()) if known.direction]
    if metric is None:
        raise unknown("metric", target.metric, names)
    if not metric.direction:
        raise UserError(f"--target {target.metric} has no better direction: expected one of {', '.join(names)}")
    return metric.direction


def _name(member: Variant) -> str:
    params = ", ".join(f"{key}={value}" for key, value in member.params.items() if value is not None)
    return f"{member.name}({params})" if params else member.name


def _reached(dataset: str, member: Variant, positions: Sequence[int | None], trials: int) -> ReachedTarget:
    first, maybe, certain = positions
    missed = None if maybe is None else maybe - 1  # the last budget that certainly misses the target
    at, low, high = (None if position is None else 2 ** (position / STEPS) for position in (first, missed, certain))
    board = board_of_mechanism(member.with_bound(1).make(MECHANISMS))
    return ReachedTarget(dataset, _name(member), board, at, low, high, trials)


def _order(result: ReachedTarget) -> tuple[str, str, bool, float, str]:
    return result.dataset, str(result.board), result.epsilon is None, result.epsilon or 0.0, result.mechanism


def _whole(runs: Sequence[Run]) -> Run:
    """All budgets that were tried, as one run: stored, so that its figure shows the errors against ε."""
    settings: dict[str, Setting] = {setting.id: setting for run in runs for setting in run.settings}
    run = replace(runs[0], settings=tuple(settings.values()), seconds=sum(run.seconds for run in runs), experiment="")
    run.save()
    return run


__all__ = ["ReachedTarget", "Target", "search", "smallest"]
