"""What `check --speed` and `check --history` print: slower releases, and the trend over commits. Imported by `check`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from dpbench.gate import speed
from dpbench.gate.baselines import ExperimentNumbers
from dpbench.storage.commands import RESULTS


@dataclass(frozen=True)
class TimedCheck:
    """The times of releases, and 1 if one of them is too long."""

    times: speed.Times
    status: int = 0


def compare_times(
    folder: Path, new: Mapping[str, ExperimentNumbers], console: Console, *, update: bool = False
) -> TimedCheck:
    """Measure a release of every mechanism, and compare the times with those of the baselines, or write them."""
    runs = [numbers.run for numbers in new.values() if numbers.run is not None]
    times = speed.measure_all(runs)
    if update:
        rest = speed.read(folder) if (folder / speed.FILE).is_file() else {}
        kept = {key: measured for key, measured in rest.items() if key[0] not in new}
        console.print(f"Wrote the times of releases to {speed.write(folder, {**kept, **times})}.", markup=False)
        return TimedCheck(times)
    old, settings = speed.read(folder), speed.first_settings(runs)
    slower = speed.slower(old, times, lambda key: speed.measured(settings[key]))
    for key, now in slower.items():
        factor = now.ratio / old[key].ratio
        what = f"{' '.join(key)} ({now.setting})"
        console.print(f"[red]slower[/]: {escape(what)}: a release takes {factor:.2f} times as long as in the baseline")
    known = [key for key in times if key in old and old[key].setting == times[key].setting]
    if unknown := len(times) - len(known):
        console.print(f"{unknown} of {len(times)} mechanisms have no time in the baseline: --speed --update adds them.")
    if not known:
        console.print("The check fails: no time could be compared.")
        return TimedCheck(times, 1)
    end = "The check fails: releases are slower." if slower else "No release is slower."
    console.print(
        f"{end} Slower: {speed.LIMIT:g} times the baseline, in {speed.AGAIN + 1} measurements one after another."
    )
    return TimedCheck(times, 1 if slower else 0)


def print_history(
    folder: Path, new: Mapping[str, ExperimentNumbers], times: TimedCheck | None, console: Console
) -> None:
    """Add the numbers to the history and draw it."""
    from dpbench.figures.style import plt
    from dpbench.gate import history

    whole = history.add(folder / history.FILE, history.points(new.values(), times.times if times else {}))
    path = RESULTS / "figures" / "history.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = history.trend(whole)
    figure.savefig(path, dpi=150, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    commits = len({point.commit for point in whole})
    told = f"{commits} commit{'s' * (commits > 1)} in {folder / history.FILE}, for git; the trend is drawn in {path}."
    console.print(told, markup=False)
