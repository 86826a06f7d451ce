"""The tracebacks in a results folder: one text file per distinct failure, in failures/. Imported by `execute` and the verb `run`.

The files are for people. Each also lists the trials that failed, so that it is removed when they are finished or no longer
part of the run, by whichever process.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpbench.identity import digest
from dpbench.model.run import Run
from dpbench.storage.files import inside, write_atomic

FOLDER = "failures"
LONGEST = 5_000_000  # most characters of a file that are read
LISTED = re.compile(r"^  ([0-9a-f]{8,64}) .*: trials? (\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*)$", re.MULTILINE)

Trials = Mapping[str, Iterable[int]]
"""By setting."""


@dataclass(frozen=True)
class Problem:
    """All failures of a run of one kind at one place."""

    error: str
    """The message of the first of them; those of the others may name other numbers."""
    kind: str
    place: str
    """FILE:LINE, or empty."""
    details: str
    """The traceback of the first of them."""
    trials: Mapping[str, tuple[int, ...]]
    """By setting."""

    @property
    def count(self) -> int:
        return sum(map(len, self.trials.values()))

    def path(self, run: Run) -> Path:
        """Where its traceback is written."""
        name = f"{run.name}@{run.scale}-{re.sub(r'[^A-Za-z]+', '-', self.kind).strip('-')[:40]}".replace("/", "-")
        return run.results / FOLDER / f"{name}-{digest([_title(run), self.kind, self.place], 4)}.txt"


def write(run: Run, problems: Iterable[Problem], finished: Callable[[str], set[int]]) -> None:
    """One file per problem. Entries of other processes about the same problem are kept, except finished trials.

    `finished`: the stored trials of a setting.
    """
    root, new = inside(run.results, run.results / FOLDER), [*problems]
    if not new and not root.is_dir():
        return
    done, wanted = {setting.id: finished(setting.id) for setting in run.settings}, run.repetitions_by_id()
    for problem in new:  # a trial that now fails in another way no longer fails in the old one
        for name, trials in problem.trials.items():
            done[name] = done[name].union(trials)
    for problem in new:
        path = problem.path(run)
        noted = _open_ones(_read(path), done, wanted)
        failed = {name: {*noted.get(name, ()), *problem.trials.get(name, ())} for name in {*noted, *problem.trials}}
        write_atomic(inside(run.results, path), _text(run, problem, failed).encode(errors="backslashreplace"))
    for path in sorted({*root.glob("*.txt")} - {problem.path(run) for problem in new}):
        text = _read(path)
        if text.partition("\n")[0] == _title(run) and LISTED.search(text) and not _open_ones(text, done, wanted):
            path.unlink(missing_ok=True)


def failed(run: Run, finished: Mapping[str, set[int]]) -> dict[str, int]:
    """How many trials of each setting have failed and were not finished later. `finished`: the stored trials by setting."""
    wanted = run.repetitions_by_id()
    listed: dict[str, list[range]] = {}
    for path in sorted((run.results / FOLDER).glob("*.txt")):
        for name, numbers in LISTED.findall(_read(path)):
            listed.setdefault(name, []).extend(_ranges(numbers, wanted.get(name, 0)))
    counts = {name: _count(parts, sorted(finished.get(name, ()))) for name, parts in listed.items()}
    return {name: count for name, count in counts.items() if count}


def _title(run: Run) -> str:
    return f"Failed in {run.path.relative_to(run.results / 'runs').as_posix().removesuffix('.json')}"


def _text(run: Run, problem: Problem, failed: Trials) -> str:
    lines = [
        _title(run),
        "",
        problem.error,
        f"at {problem.place}" if problem.place else "at an unknown place",
        "",
    ]
    settings = {setting.id: setting for setting in run.settings}
    for name, trials in sorted(failed.items(), key=lambda item: str(settings[item[0]])):
        lines.append(f"  {name} {' '.join(str(settings[name]).split())}: trials {ranges(trials)}")
    return "\n".join([*lines, "", problem.details or "There is no traceback.", ""])


def _read(path: Path) -> str:
    """The text of a file; empty for a link, or for anything that is not a file."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(LONGEST)


def _open_ones(text: str, done: Mapping[str, set[int]], wanted: Mapping[str, int]) -> dict[str, set[int]]:
    """The trials that a file lists and that are still to be computed, by setting of this run."""
    listed = {
        name: {trial for part in _ranges(numbers, wanted[name]) for trial in part} - done[name]
        for name, numbers in LISTED.findall(text)
        if name in done
    }
    return {name: trials for name, trials in listed.items() if trials}


def ranges(trials: Iterable[int]) -> str:
    """Numbers in short: 0, 3-7, 9."""
    parts: list[list[int]] = []
    for trial in sorted(trials):
        if parts and trial == parts[-1][1] + 1:
            parts[-1][1] = trial
        else:
            parts.append([trial, trial])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def _ranges(text: str, repetitions: int) -> Iterator[range]:
    """What `ranges` wrote, as far as a setting with so many trials can have them: the file may be somebody else's."""
    for part in text.split(", "):
        first, _, last = part.partition("-")
        if len(part) < 40 and int(first) < repetitions:
            yield range(int(first), min(int(last or first) + 1, repetitions))


def _count(parts: Iterable[range], done: Sequence[int]) -> int:
    """How many trials are in these ranges and not done, without listing them: there may be millions."""
    count = end = 0
    for part in sorted(parts, key=lambda part: part.start):
        start, stop = max(part.start, end), max(part.stop, end)
        count += stop - start - (bisect.bisect_left(done, stop) - bisect.bisect_left(done, start))
        end = stop
    return count
