"""What the verbs share: the two consoles. Imported by them."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from dpbench.cli.streams import writable

WIDTH = 150  # of output into a pipe: wide enough that no row is wrapped


class _Console(Console):
    """A console that replaces characters that cannot be shown before it lays out a table, so that columns stay aligned."""

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        return super().render_str(writable(text, self.encoding), **options)


def console(width: int = WIDTH) -> Console:
    """Standard output: as wide as the terminal, or `width` in a pipe."""
    found = _Console()
    return found if found.is_terminal else _Console(width=width)


def notes() -> Console:
    """Standard error: progress and warnings."""
    return _Console(stderr=True, highlight=False)
