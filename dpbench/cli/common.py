"""What the verbs share: the two consoles, and JSON for programs. Imported by them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dpbench.cli.streams import writable
from dpbench.errors import output_file

WIDTH = 150  # of what is printed into a pipe, which has no width of its own: wide enough that no row is folded
PRINTED = Path("-")  # where --json prints instead of writing a file


class _Console(Console):
    """A console that replaces characters that cannot be shown before it lays out a table, so that columns stay aligned."""

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        return super().render_str(writable(text, self.encoding), **options)


def console(width: int = WIDTH, *, stderr: bool = False) -> Console:
    """Standard output, or standard error where that holds something for programs: as wide as the terminal, or `width` in a
    pipe."""
    found = _Console(stderr=stderr)
    return found if found.is_terminal else _Console(width=width, stderr=stderr)


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """The option --json FILE of a verb. Without FILE, or with -, JSON is printed and the rest goes to standard error."""
    told = f"write {what} to this file as JSON; without FILE, print it"
    parser.add_argument("--json", nargs="?", const=PRINTED, type=_json_file, metavar="FILE", help=told)


def _json_file(text: str) -> Path:
    """Where JSON is written. A name without an ending is more likely one that the verb was asked about."""
    path = Path(text)
    if path != PRINTED and not path.suffix and not path.is_absolute():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the name of a file such as found.json: give --json last to print"
        )
    output_file("--json", path)
    return path


def write_json(path: Path, text: str) -> None:
    """JSON into a file, or to standard output."""
    if path == PRINTED:
        print(text.rstrip("\n"))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def notes() -> Console:
    """Standard error: progress and warnings."""
    return _Console(stderr=True, highlight=False)
