"""What the verbs share: the two consoles, and JSON for programs. Imported by them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dpbench.cli.streams import writable
from dpbench.errors import UserError, output_file

WIDTH = 150  # characters per line of output into a pipe: enough that no row is wrapped
PRINTED = Path("-")  # where --json prints instead of writing a file


class _Console(Console):
    """A console that replaces characters that cannot be shown before it lays out a table, so that columns stay aligned."""

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        return super().render_str(writable(text, self.encoding), **options)


def console(width: int = WIDTH, *, stderr: bool = False) -> Console:
    """A console on standard output, or on standard error if standard output is reserved for programs. It is as wide as the
    terminal; in a pipe it has `width` characters."""
    found = _Console(stderr=stderr)
    return found if found.is_terminal else _Console(width=width, stderr=stderr)


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """The option --json FILE of a verb. Without FILE, or with -, JSON is printed and the rest goes to standard error."""
    told = f"write {what} to this file as JSON; without FILE, print it"
    parser.add_argument("--json", nargs="?", const=PRINTED, type=Path, action=_JsonFile, metavar="FILE", help=told)


class _JsonFile(argparse.Action):
    """Checks, before any work, that a file can be written at the given place."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, value: Any, option: str | None = None) -> None:
        output_file("--json", value)
        # A name without a suffix is more likely an argument of the verb than a file: `audit --json lpa`.
        if value != PRINTED and not value.suffix and not value.is_absolute():
            raise UserError(f"--json {value} is not the name of a file such as found.json: give --json last to print")
        namespace.json = value


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
