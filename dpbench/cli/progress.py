"""Shows how far a command is: a spinner and a bar on a terminal, plain lines in a log. Imported by the verbs that run trials."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

EVERY = 60.0
"""Seconds between two lines of a log."""
FOUND = 2.0
"""Trials counted in the first seconds were mostly found finished: they say nothing about the time that the rest takes."""

ENOUGH = 0.02
"""The time left is told once this share of the trials that had to be computed is done. The first ones may be the slowest."""


@contextmanager
def preparing(notes: Console) -> Iterator[Callable[[str], None]]:
    """Shows what is being prepared: a spinner on a terminal, plain lines elsewhere."""
    if not notes.is_terminal:
        yield notes.print
        return
    with notes.status("planning") as status:
        yield lambda text: status.update(text)


@contextmanager
def progress_bar(
    name: str, total: int, notes: Console
) -> Iterator[tuple[Callable[[int], None], Callable[[str], None]]]:
    """A bar on a terminal, one line per minute elsewhere. Yields the functions that advance it and that show which workers are
    at work."""
    if not notes.is_terminal:
        yield Lines(name, total, lambda text: notes.print(escape(text), soft_wrap=True)).advance, lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=notes) as progress:
        task = progress.add_task(name, total=total)
        yield (
            lambda trials: progress.advance(task, trials),
            lambda text: progress.update(task, description=f"{name}, {text}"),
        )


class Lines:
    """Progress in a log: what is done and an estimate of the time left, at most once per minute."""

    def __init__(
        self, name: str, total: int, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name, self.total, self.say, self.clock = name, total, say, clock
        self.began = self.last = clock()
        self.done = self.found = 0

    def advance(self, trials: int) -> None:
        now = self.clock()
        self.done += trials
        if now - self.began < FOUND:
            self.found = self.done
        if now - self.last >= EVERY and self.done < self.total:
            self.last = now
            self.say(f"{self.name}: {self.done:,} of {self.total:,} trials{self._left(now - self.began)}")

    def _left(self, seconds: float) -> str:
        computed = self.done - self.found
        if computed < ENOUGH * (self.total - self.found):
            return ""
        minutes = (self.total - self.done) * seconds / computed / 60
        return f", about {minutes:,.0f} minutes left at this rate" if minutes >= 1.5 else ", about a minute left"
