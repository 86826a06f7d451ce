"""The speed of releases as a baseline, relative to a calibration loop in the same process. Imported by the verb `check`.

`speed.tsv` in the folder of the baselines has one line per experiment and mechanism: how many times as long as the loop one
release takes. Loop and release alternate, so that a machine that becomes slower does so for both.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpbench.errors import UserError
from dpbench.gate import lines
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.run import Run
from dpbench.model.setting import Setting
from dpbench.sources.cache import open_dataset

FILE = "speed.tsv"
HEAD = ("experiment", "mechanism", "setting", "ratio", "low", "high")
ROUNDS = 11
AGAIN = 2
"""How often a mechanism that seems slower is measured again before that counts."""
LIMIT = 1.5
"""A mechanism is slower if it takes this many times as long, even with the quartiles of both measurements in its favour."""
MOST_CALLS = 1000
_VALUES = np.random.default_rng(0).random(30_000)

Clock = Callable[[], float]


@dataclass(frozen=True)
class ReleaseTime:
    """The time of one release as a multiple of the calibration loop: the median over the rounds, and the quartiles."""

    setting: str
    ratio: float
    low: float
    high: float

    def slower_than(self, before: ReleaseTime) -> bool:
        return self.low > LIMIT * before.high


Times = dict[tuple[str, str], ReleaseTime]
"""By experiment and mechanism."""


def calibrate() -> None:
    """What numpy and Python do in a release, for some milliseconds."""
    np.sort(_VALUES).cumsum()
    sum(number * number for number in range(20_000))


def ratios(release: Callable[[], object], clock: Clock = time.process_time) -> list[float]:
    """The time of a release divided by that of the loop before and after it, in every round. The first release is not counted."""
    release()  # kernels are compiled and the data is read now
    loop, once = _timed(calibrate, clock), _timed(release, clock)
    calls = min(MOST_CALLS, max(1, round(loop / once))) if once > 0 else MOST_CALLS
    results, before = [], _timed(calibrate, clock)
    for _ in range(ROUNDS):
        taken = _timed(lambda: [release() for _ in range(calls)], clock) / calls
        after = _timed(calibrate, clock)
        results.append(taken / ((before + after) / 2))
        before = after
    return results


def _timed(call: Callable[[], object], clock: Clock) -> float:
    began = clock()
    call()
    return clock() - began


def measured(setting: Setting) -> ReleaseTime:
    """The time of a release of this setting."""
    data, mechanism = open_dataset(setting.dataset, tell=False).data, setting.mechanism.make(MECHANISMS)
    low, middle, high = np.quantile(
        ratios(lambda: mechanism.release(data, epsilon=setting.epsilon, rng=np.random.default_rng(0))),
        (0.25, 0.5, 0.75),
    )
    return ReleaseTime(str(setting), float(middle), float(low), float(high))


def first_settings(runs: Iterable[Run]) -> dict[tuple[str, str], Setting]:
    """The first setting of every mechanism of every run: what is measured."""
    first: dict[tuple[str, str], Setting] = {}
    for run in runs:
        for setting in run.settings:
            first.setdefault((run.name, setting.mechanism.name), setting)
    return first


def measure_all(runs: Iterable[Run]) -> Times:
    times: Times = {}
    for key, setting in first_settings(runs).items():
        with contextlib.suppress(Exception):  # its trials have failed as well, which is reported; it has no time
            times[key] = measured(setting)
    return times


def slower(old: Times, new: Times, again: Callable[[tuple[str, str]], ReleaseTime]) -> Times:
    """The mechanisms that are slower than in the baseline whenever they are measured. `again` measures once more."""
    slow: Times = {}
    for key, now in new.items():
        before = old.get(key)
        if before is None or before.setting != now.setting:
            continue
        tries = 1
        while now.slower_than(before) and tries <= AGAIN:
            now, tries = again(key), tries + 1
        if now.slower_than(before):
            slow[key] = now
    return slow


def write(folder: Path, times: Mapping[tuple[str, str], ReleaseTime]) -> Path:
    rows = ((*key, t.setting, *(f"{x:.4g}" for x in (t.ratio, t.low, t.high))) for key, t in times.items())
    return lines.write(folder / FILE, HEAD, rows)


def read(folder: Path) -> Times:
    """The times of the baseline. UserError if there are none, or if they are no times."""
    path = folder / FILE
    if not path.is_file():
        raise UserError(f"there are no times in {path}: `python -m dpbench check --speed --update` writes them")
    rows = lines.read(path, HEAD, "`check --speed --update` writes it", numbers=3)
    return {(row[0], row[1]): ReleaseTime(row[2], *map(float, row[3:])) for row in rows}
