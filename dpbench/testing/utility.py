"""`assert_utility`: a test fails if a mechanism publishes worse numbers than a baseline.

The baseline is another mechanism, or the numbers of an earlier version in a JSON file, which `pytest --dpbench-update` writes.
"""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.config.selection import USUAL_TASKS
from dpbench.data import Data
from dpbench.data.plain import as_data
from dpbench.errors import UserError, positive, unknown
from dpbench.mechanisms.base import MECHANISMS, parse_epsilon
from dpbench.tasks.base import TASKS
from dpbench.testing.place import current

SIGNIFICANT = 1e-4
"""How often a mechanism that is as good as its baseline fails by chance, at most."""


@dataclass(frozen=True)
class MetricValues:
    """One metric of one mechanism, trial by trial."""

    mechanism: str
    metric: str
    better: str
    epsilon: float
    seed: int
    values: tuple[float, ...]

    def __str__(self) -> str:
        error = float(np.std(self.values, ddof=1)) / math.sqrt(len(self.values))
        return f"{np.mean(self.values):.6g} ± {error:.2g}"


def assert_utility(
    mechanism: Any,
    *,
    baseline: Any = None,
    data: Any = None,
    epsilon: float | str = 1.0,
    metric: str | None = None,
    task: Any = None,
    trials: int = 30,
    tolerance: float = 0.02,
    seed: int = 0,
) -> None:
    """Fail if the mean of a metric is worse than the baseline's, significantly and by more than `tolerance` (a part of it).

    `baseline`: a mechanism or its name, measured now with the same seeds, or a JSON file; by default the file
    `dpbench_baselines/MODULE.json` beside the test. `metric`: by default the first one of the task, which is the usual one for
    the kind of the data. Without `data`, a generated dataset. The text of a failure names the metric, before and after.
    """
    __tracebackhide__ = True
    positive("tolerance", tolerance)
    if trials < 5:
        raise UserError(f"trials={trials} is not valid: expected at least 5")
    made, who = _mechanism(mechanism)
    taken = _data(data, made)
    scored = (
        TASKS.make(USUAL_TASKS[taken.kind]) if task is None else TASKS.make(task) if isinstance(task, str) else task
    )
    options = (taken, scored, metric, parse_epsilon(epsilon), trials, seed)
    now = _measured(made, who, *options)
    if baseline is None or isinstance(baseline, Path) or str(baseline).endswith(".json"):
        before = _stored(baseline, now)
        hint = "if this is intended: pytest --dpbench-update"
    else:
        other, name = _mechanism(baseline)
        before, hint = _measured(other, name, *options), f"the baseline is {name}"
    _compare(now, before, tolerance, hint)


def _compare(now: MetricValues, before: MetricValues, tolerance: float, hint: str) -> None:
    __tracebackhide__ = True
    from scipy.stats import ttest_1samp

    sign = 1 if now.better == "lower" else -1
    worse: NDArray[np.float64] = sign * (np.array(now.values) - np.array(before.values))  # same seeds: pairs
    certain = 0.0 if worse[0] > 0 else 1.0  # where all trials differ by the same
    p = float(ttest_1samp(worse, 0.0, alternative="greater").pvalue) if np.ptp(worse) else certain
    size = abs(float(np.mean(before.values)))
    change = float(np.mean(worse)) / size if size else math.inf * float(np.sign(np.mean(worse)) or 0)
    if p < SIGNIFICANT and change > tolerance:
        told = f"{now.metric} before {before}, after {now} ({sign * 100 * change:+.3g} %, p = {p:.1g})"
        where = f"ε = {now.epsilon:.4g}, {len(now.values)} trials"
        raise AssertionError(f"{now.mechanism} is worse than its baseline\n  {told}\n  {where}; {hint}")


def _mechanism(given: Any) -> tuple[Any, str]:
    """The mechanism that is meant by an object, a class, a name or `lpa(bound=3)`, and its name."""
    from dpbench.auditing.judge import parsed

    if isinstance(given, str):
        name, parameters = parsed(given)
        return MECHANISMS.make(name, **(parameters or {})), given
    made = given() if isinstance(given, type) else given
    if not callable(getattr(made, "release", None)):
        raise UserError(f"mechanism={given!r} is not valid: expected a name, or an object with `release`")
    return made, getattr(made, "name", "") or type(made).__name__


def _data(given: Any, mechanism: Any) -> Data:
    kinds = tuple(getattr(mechanism, "kinds", ("incidence",)))
    if given is None:
        if "incidence" not in kinds:
            raise UserError(f"data is missing: the mechanism takes {' or '.join(kinds)} data")
        from dpbench.api.lookup import dataset

        return dataset("trajectory", scale="smoke")
    return as_data(given, kinds)


def _measured(
    mechanism: Any, who: str, data: Data, task: Any, metric: str | None, epsilon: float, trials: int, seed: int
) -> MetricValues:
    """The values of a metric in `trials` releases, whose noise depends on the seed and the trial only."""
    __tracebackhide__ = True
    metric = metric or next(iter(task.metrics)).name
    declared = task.metric(metric)
    values = []
    form = {"noise": "float"} if "noise" in inspect.signature(mechanism.release).parameters else {}
    for trial in range(trials):
        noise, scoring = (np.random.default_rng([seed, trial, part]) for part in (0, 1))
        try:
            scores = task.score(data, mechanism.release(data, epsilon=epsilon, rng=noise, **form), scoring)
        except UserError as problem:  # without the frames of the release, which say nothing to whoever wrote the test
            raise UserError(f"{problem}; the data is {data!r}: give other data, or other parameters") from None
        if metric not in scores:
            raise unknown("metric", metric, scores)
        values.append(float(scores[metric]))
    if declared is None or declared.better == "neither":
        raise UserError(f"metric={metric!r} is not valid: it has no better direction")
    return MetricValues(who, metric, declared.better, epsilon, seed, tuple(values))


def _stored(baseline: Any, now: MetricValues) -> MetricValues:
    """The numbers of the baseline file. They are written if pytest was told to; otherwise a missing one is a failure."""
    __tracebackhide__ = True
    place = current.get()
    file = Path(baseline) if baseline is not None else place.file if place else None
    if file is None:
        raise UserError("baseline is missing: give a mechanism or a JSON file, or run the test with pytest")
    name = f"{place.test if place else ''} {now.mechanism} {now.metric} ε={now.epsilon:.6g}".strip()
    known: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if place is not None and place.update:
        known[name] = asdict(now)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False)
        file.write_text(text + "\n", encoding="utf-8")
    if name not in known:
        raise AssertionError(
            f"{file} has no baseline of {name!r}: write it with pytest --dpbench-update, and commit the file"
        )
    before = MetricValues(**{**known[name], "values": tuple(known[name]["values"])})
    if len(before.values) != len(now.values) or before.seed != now.seed:
        was = f"{len(before.values)} trials and seed {before.seed}"
        raise AssertionError(f"the baseline of {name!r} has {was}: write it anew with pytest --dpbench-update")
    return before
