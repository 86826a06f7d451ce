"""Shows how far a command is: a bar in a terminal or a notebook, one line per minute in a log, nothing in a program.

Imported by `execute` and by everything that plans or runs trials. It stands in the engine because the verbs and the Python
interface, which stand above it, share it. Imports rich and IPython late.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dpbench.engine.plan import Plan
from dpbench.engine.shards import planned
from dpbench.model.run import Run
from dpbench.storage.record import read

if TYPE_CHECKING:
    from rich.console import Console

EVERY = 60.0
"""Seconds between two lines of a log."""
REFRESH = 0.2
"""Seconds between two updates in a notebook."""
FOUND = 2.0
"""Trials counted in the first seconds were mostly found finished: they say nothing about the time that the rest takes."""
ENOUGH = 0.02
"""Without an expectation, the time left is shown once this share of the cost of the trials to compute is done."""
TRUST = 0.25
"""An expected duration counts as much as this share of it, measured. The first trials of a run are often its slowest."""


class Progress:
    """Receives how far a command is, and shows nothing. The displays below are derived from it."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self, text: str) -> None:
        """Show what is being prepared, such as a dataset that is built."""

    def say(self, text: str) -> None:
        """Show a message for the user, which stays."""

    def status(self, text: str) -> None:
        """Show which workers of a cluster are at work."""

    def begin(self, plans: Sequence[Plan]) -> None:
        """The trials of these plans begin."""

    def advance(self, plan: Plan, trials: int) -> None:
        """This many more trials of a plan are done."""

    def close(self) -> None:
        """The command is over."""


class Display(Progress):
    """What all displays have in common: they count trials and estimate the time left."""

    name, done, total = "planning", 0, 0

    def begin(self, plans: Sequence[Plan]) -> None:
        # Trials may take milliseconds or minutes: what they took on record gives the time left.
        self.costs = trial_costs([plan.run for plan in plans])
        trials = {id(plan): planned(plan) for plan in plans}
        cost = sum(self.costs.get(plan.run.label, 1.0) * trials[id(plan)] for plan in plans)
        expected = None
        if self.costs and plans[0].config.runner.backend == "loky":
            import joblib

            jobs = plans[0].config.runner.jobs
            expected = cost / (joblib.cpu_count() if jobs == -1 else jobs)
        self.start(describe_plans(plans), sum(trials.values()), Left(cost, expected))

    def advance(self, plan: Plan, trials: int) -> None:
        self.count(trials, trials * self.costs.get(plan.run.label, 1.0))

    def start(self, name: str, total: int, left: Left | None = None) -> None:
        """Begin with `total` trials. `left` estimates the time left (default: each trial costs the same)."""
        self.name, self.done, self.total, self.left = name, 0, total, left or Left(total)
        self.draw()

    def count(self, trials: int, cost: float | None = None) -> None:
        """Count trials that are done, and what they cost in the unit of `left`."""
        self.done += trials
        self.left.advance(trials if cost is None else cost)
        self.draw()

    def time_left(self) -> str:
        return self.left.describe() if self.done < self.total else ""

    def draw(self) -> None:
        """Show the counts."""


class Terminal(Display):
    """A bar that is gone when the command is over."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}", style="progress.download"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", style="progress.remaining"),
        )
        # What is printed goes above the bar if both are on the terminal. Standard output into a file is left alone.
        self.bar = Bar(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty())
        self.task = self.bar.add_task(self.name, total=None, count="", left="")
        self.bar.start()

    def prepare(self, text: str) -> None:
        from rich.markup import escape

        self.bar.update(self.task, description=escape(text))

    def say(self, text: str) -> None:
        warn(self.bar.console, text)

    def status(self, text: str) -> None:
        self.prepare(f"{self.name}, {text}")

    def start(self, name: str, total: int, left: Left | None = None) -> None:
        super().start(name, total, left)
        self.bar.update(self.task, total=self.left.cost)
        self.prepare(name)

    def draw(self) -> None:
        count = f"{self.done}/{self.total}"
        self.bar.update(self.task, completed=self.left.spent, count=count, left=self.time_left())

    def close(self) -> None:
        self.bar.stop()


class Log(Display):
    """Plain lines: what is prepared, messages, and at most once per minute how many trials are done."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def prepare(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    def say(self, text: str) -> None:
        warn(self.console, text)

    def start(self, name: str, total: int, left: Left | None = None) -> None:
        super().start(name, total, left)
        self.last = self.left.began

    def count(self, trials: int, cost: float | None = None) -> None:
        super().count(trials, cost)
        now = self.left.clock()
        if now - self.last >= EVERY and self.done < self.total:
            self.last = now
            parts = (f"{self.done:,} of {self.total:,} trials", self.time_left())
            self.prepare(f"{self.name}: {', '.join(filter(None, parts))}")


class Notebook(Display):
    """An HTML bar in the output of the cell, without widgets: it stays correct when the notebook is saved or converted."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self.html = HTML
        self.messages: list[str] = []
        self.drawn = time.monotonic()
        self.handle: Any = display(HTML(self.text()), display_id=True)

    def text(self) -> str:
        bar = count = ""
        if self.total:
            bar = f'<progress value="{self.done}" max="{self.total}" style="width: 20em"></progress> '
            count = f" {self.done:,} of {self.total:,} trials"
        lines = [f"{bar}{html.escape(self.name)}{count}", *map(html.escape, self.messages)]
        return "".join(f"<div>{line}</div>" for line in lines)

    def prepare(self, text: str) -> None:
        self.name = text
        self.close()

    def say(self, text: str) -> None:
        self.messages.append(text)
        self.close()

    def draw(self) -> None:
        if time.monotonic() - self.drawn >= REFRESH:
            self.close()

    def close(self) -> None:
        self.drawn = time.monotonic()
        self.handle.update(self.html(self.text()))


def display(wanted: bool | None = None, *, console: Console | None = None) -> Progress:
    """The display that fits where the program runs; used in a `with` statement.

    console: where a command shows its progress, as a bar on a terminal and as lines elsewhere. Without it, for a program:
    `wanted` shows a bar or nothing; by default, a bar in a terminal or a notebook.
    """
    if console is not None:
        return Terminal(console) if console.is_terminal else Log(console)
    if wanted is False:
        return Progress()
    if _in_notebook():
        return Notebook()
    if not wanted and not sys.stderr.isatty():
        return Progress()
    from rich.console import Console

    return Terminal(Console(stderr=True))


def _in_notebook() -> bool:
    """Whether cells of a notebook are being run, judged by the type of the IPython shell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def warn(console: Console, text: str) -> None:
    """Print a warning."""
    console.print(text, style="yellow", markup=False, soft_wrap=True)


def describe_plans(plans: Sequence[Plan]) -> str:
    """What plans are called: "54 experiments"; a single one has its own name and shard."""
    names = {plan.run.name for plan in plans}  # an experiment may also run on original files: it counts once
    if len(names) != 1:
        return f"{len(names)} experiments"
    shard = plans[0].config.runner.part
    return plans[0].run.name if shard is None else f"{plans[0].run.name}, shard {shard}"


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

    def describe(self) -> str:
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


def trial_costs(runs: Sequence[Run]) -> dict[str, float]:
    """The expected cost of one trial of each run, by label: the seconds of a release on record, at the same scale.

    A run that is not on record counts like the average of the others. Without any record, there are no costs.
    """
    most: dict[str, int] = {}  # an experiment may also run on original files: the record is of its larger run
    for run in runs:
        most[run.name] = max(most.get(run.name, 0), run.planned)
    known = {
        name: (record.costs.computing / trials, trials)
        for name, trials in most.items()
        if (record := read(name)) is not None and record.scale == runs[0].scale and record.costs.computing > 0
    }
    if not known:
        return {}
    mean = sum(cost * trials for cost, trials in known.values()) / sum(trials for _, trials in known.values())
    return {run.label: known[run.name][0] if run.name in known else mean for run in runs}
