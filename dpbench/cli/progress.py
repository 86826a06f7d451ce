"""Shows how far a command is: a spinner and a bar on a terminal, plain lines in a log. Imported by the verbs that run trials."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from dpbench.engine.plan import Plan
    from dpbench.engine.together import Advance

EVERY = 60.0
"""Seconds between two lines of a log."""
FOUND = 2.0
"""Trials counted in the first seconds were mostly found finished: they say nothing about the time that the rest takes."""

ENOUGH = 0.02
"""The time left is told once this share of the cost of the trials that had to be computed is done."""


class More(Protocol):
    """Moves a bar on: by some trials, and by what they cost in a unit of their own (default: 1 per trial)."""

    def __call__(self, trials: int, cost: float | None = None) -> None: ...


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
    name: str, total: int, notes: Console, cost: float | None = None
) -> Iterator[tuple[More, Callable[[str], None]]]:
    """A bar on a terminal, one line per minute elsewhere. Yields the functions that advance it and that show which workers are
    at work. `cost`: the expected cost of all trials together, for the time left (default: each trial costs the same)."""
    whole = float(total) if cost is None else cost
    if not notes.is_terminal:
        say = lambda text: notes.print(escape(text), soft_wrap=True)  # noqa: E731
        yield Lines(name, total, say, cost=whole).advance, lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[trials]}/{task.fields[of]}", style="progress.download"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=notes) as progress:
        task = progress.add_task(name, total=whole, trials=0, of=total)

        def advance(trials: int, cost: float | None = None) -> None:
            done = progress.tasks[0].fields["trials"] + trials
            progress.update(task, advance=trials if cost is None else cost, trials=done)

        yield advance, lambda text: progress.update(task, description=f"{name}, {text}")


def told(plans: Sequence[Plan]) -> str:
    """What several plans are called: "54 experiments"; a single one has its own name."""
    return plans[0].run.name if len(plans) == 1 else f"{len(plans)} experiments"


@contextmanager
def plans_bar(plans: Sequence[Plan], name: str, notes: Console) -> Iterator[Advance]:
    """The bar of several plans. Their trials may take milliseconds or minutes: what they took on record gives the time left."""
    from dpbench.reproduce.costs import trial_costs

    costs = trial_costs([plan.run for plan in plans])
    cost = sum(costs[plan.run.label] * plan.run.planned for plan in plans)
    with progress_bar(name, sum(plan.run.planned for plan in plans), notes, cost) as (advance, _):
        yield lambda plan, trials: advance(trials, trials * costs[plan.run.label])


class Lines:
    """Progress in a log: what is done and an estimate of the time left, at most once per minute."""

    def __init__(
        self,
        name: str,
        total: int,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        cost: float | None = None,
    ) -> None:
        self.name, self.total, self.say, self.clock = name, total, say, clock
        self.began = self.last = clock()
        self.cost = float(total) if cost is None else cost
        self.done, self.spent, self.found = 0, 0.0, 0.0

    def advance(self, trials: int, cost: float | None = None) -> None:
        now = self.clock()
        self.done += trials
        self.spent += trials if cost is None else cost
        if now - self.began < FOUND:
            self.found = self.spent
        if now - self.last >= EVERY and self.done < self.total:
            self.last = now
            self.say(f"{self.name}: {self.done:,} of {self.total:,} trials{self._left(now - self.began)}")

    def _left(self, seconds: float) -> str:
        computed = self.spent - self.found
        if computed < ENOUGH * (self.cost - self.found):
            return ""
        minutes = (self.cost - self.spent) * seconds / computed / 60
        return f", about {minutes:,.0f} minutes left at this rate" if minutes >= 1.5 else ", about a minute left"
