"""Progress of a run: a bar in a terminal, one updated line in a notebook, nothing elsewhere."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

EVERY = 0.2  # seconds between two updates in a notebook


class Bar:
    """Receives the progress, and shows nothing."""

    def say(self, text: str) -> None:
        """Show what is being prepared, or a message for the user."""

    def begin(self, name: str, total: int) -> None:
        """The trials begin."""

    def advance(self, trials: int) -> None:
        """This many more trials are done."""


class TerminalBar(Bar):
    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.progress.add_task("planning", total=None)
        self.progress.start()

    def say(self, text: str) -> None:
        self.progress.update(self.task, description=text)

    def begin(self, name: str, total: int) -> None:
        self.progress.update(self.task, description=name, total=total)

    def advance(self, trials: int) -> None:
        self.progress.advance(self.task, trials)

    def close(self) -> None:
        self.progress.stop()


class NotebookBar(Bar):
    """An HTML bar in the output of the cell, without widgets: it stays correct when the notebook is saved or converted."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self.html = HTML
        self.name, self.done, self.total, self.drawn = "planning", 0, 0, 0.0
        self.handle: Any = display(HTML(self.text()), display_id=True)

    def text(self) -> str:
        bar = (
            f'<progress value="{self.done}" max="{max(1, self.total)}" style="width: 20em"></progress> '
            if self.total
            else ""
        )
        count = f" {self.done:,} of {self.total:,} trials" if self.total else ""
        return f"<div>{bar}{html.escape(self.name)}{count}</div>"

    def draw(self, last: bool = False) -> None:
        now = time.monotonic()
        if last or now - self.drawn >= EVERY:
            self.drawn = now
            self.handle.update(self.html(self.text()))

    def say(self, text: str) -> None:
        self.name = text
        self.draw(last=True)

    def begin(self, name: str, total: int) -> None:
        self.name, self.total = name, total
        self.draw(last=True)

    def advance(self, trials: int) -> None:
        self.done += trials
        self.draw()

    def close(self) -> None:
        self.draw(last=True)


@contextmanager
def progress(wanted: bool | None) -> Iterator[Bar]:
    """A bar that fits where the program runs. `wanted`: None shows it in a terminal or a notebook."""
    kind: type[NotebookBar] | type[TerminalBar] | None = None
    if wanted is not False:
        kind = NotebookBar if _in_notebook() else TerminalBar if wanted or sys.stderr.isatty() else None
    if kind is None:
        yield Bar()
        return
    bar = kind()
    try:
        yield bar
    finally:
        bar.close()


def _in_notebook() -> bool:
    """Whether cells of a notebook are being run, judged by the type of the IPython shell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"
