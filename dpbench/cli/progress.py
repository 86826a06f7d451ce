"""Shows how far a command is: a spinner and a bar on a terminal, plain lines in a log. Imported by the verbs that run trials."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from dpbench.engine.plan import Plan
    from dpbench.engine.together import Advance

EVERY = 60.0
"""Seconds between two lines of a log."""
FOUND = 2.0
"""Trials counted in the first seconds were mostly found finished: they say nothing about the time that the rest takes."""

ENOUGH = 0.02
"""Without an expectation, the time left is told once this share of the cost of the trials to compute is done."""
TRUST = 0.25
"""An expected duration counts as much as this share of it, measured. The first trials of a run are often its slowest."""


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
    name: str, total: int, notes: Console, left: Left | None = None
) -> Iterator[tuple[More, Callable[[str], None]]]:
    """A bar on a terminal, one line per minute elsewhere. Yields the functions that advance it and that show which workers are
    at work. `left` estimates the time left (default: each trial costs the same)."""
    left = left or Left(total)
    if not notes.is_terminal:
        say = lambda text: notes.print(escape(text), soft_wrap=True)  # noqa: E731
        yield Lines(name, total, say, left).advance, lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[trials]}/{task.fields[of]}", style="progress.download"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", style="progress.remaining"),
    )
    with Progress(*columns, console=notes) as progress:
        task = progress.add_task(name, total=left.cost, trials=0, of=total, left="")

        def advance(trials: int, cost: float | None = None) -> None:
            cost = trials if cost is None else cost
            left.advance(cost)
            done = progress.tasks[0].fields["trials"] + trials
            progress.update(task, advance=cost, trials=done, left=left.told() if done < total else "")

        yield advance, lambda text: progress.update(task, description=f"{name}, {text}")


def told(plans: Sequence[Plan]) -> str:
    """What several plans are called: "54 experiments"; a single one has its own name."""
    return plans[0].run.name if len(plans) == 1 else f"{len(plans)} experiments"


@contextmanager
def plans_bar(plans: Sequence[Plan], name: str, notes: Console) -> Iterator[Advance]:
    """The bar of several plans. Their trials may take milliseconds or minutes: what they took on record gives the time left."""
    import joblib

    from dpbench.reproduce.costs import trial_costs

    costs = trial_costs([plan.run for plan in plans])
    cost = sum(costs.get(plan.run.label, 1.0) * plan.run.planned for plan in plans)
    jobs = plans[0].config.runner.jobs
    workers = joblib.cpu_count() if jobs == -1 else jobs
    left = Left(cost, expected=cost / workers if costs else None)
    with progress_bar(name, sum(plan.run.planned for plan in plans), notes, left) as (advance, _):
        yield lambda plan, trials: advance(trials, trials * costs.get(plan.run.label, 1.0))


class Left:
    """Estimates the time left from the cost of the trials done and to do. `expected`: the seconds that all trials should take."""

    def __init__(self, cost: float, expected: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.cost, self.expected, self.clock = float(cost), expected, clock
        self.began = clock()
        self.spent = self.found = 0.0

    def advance(self, cost: float) -> None:
        self.spent += cost
        if self.clock() - self.began < FOUND:
            self.found = self.spent

    def told(self) -> str:
        """The estimate in words; empty if it is too early for one."""
        computed, seconds = self.spent - self.found, self.clock() - self.began
        if self.expected:
            seconds += TRUST * self.expected
            computed += TRUST * self.cost
        elif computed <= ENOUGH * (self.cost - self.found):
            return ""
        minutes = (self.cost - self.spent) * seconds / computed / 60
        if minutes >= 1.5:
            return f"about {minutes:,.0f} minutes left"
        return "about a minute left" if minutes >= 0.5 else "less than a minute left"


class Lines:
    """Progress in a log: what is done and an estimate of the time left, at most once per minute."""

    def __init__(self, name: str, total: int, say: Callable[[str], None], left: Left) -> None:
        self.name, self.total, self.say, self.left = name, total, say, left
        self.last = left.began
        self.done = 0

    def advance(self, trials: int, cost: float | None = None) -> None:
        now = self.left.clock()
        self.done += trials
        self.left.advance(trials if cost is None else cost)
        if now - self.last >= EVERY and self.done < self.total:
            self.last = now
            parts = (f"{self.done:,} of {self.total:,} trials", self.left.told())
            self.say(f"{self.name}: {', '.join(filter(None, parts))}")
