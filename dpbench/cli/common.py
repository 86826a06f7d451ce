"""What the verbs share: their parsers and common options, the two consoles, and JSON for programs. Imported by them."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from dpbench.cli.streams import writable
from dpbench.errors import UserError, output_file
from dpbench.storage.files import is_old

WIDTH = 150  # characters per line of output into a pipe: enough that no row is wrapped
PRINTED = Path("-")  # where --json prints instead of writing a file


def parser_of(verb: str, description: str | None, **more: Any) -> argparse.ArgumentParser:
    """The parser of a verb. `description`: what --help begins with."""
    return argparse.ArgumentParser(prog=f"python -m dpbench {verb}", description=description, **more)


def add_results(parser: argparse.ArgumentParser, what: str = "folder of the runs (default: results)") -> None:
    from dpbench.storage.commands import RESULTS  # `list` needs no storage, and has to be fast

    parser.add_argument("--results", type=Path, default=RESULTS, help=what)


def add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one per core)")


class _Console(Console):
    """A console that replaces characters that cannot be shown before it lays out a table, so that columns stay aligned.

    Text is printed as it is: the terminal breaks long lines, so that commands can be copied, and numbers have no colours.
    """

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        return super().render_str(writable(text, self.encoding), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        if all(isinstance(part, str) for part in objects):
            options = {"highlight": False, "soft_wrap": True} | options
        super().print(*objects, **options)


def console(width: int = WIDTH, *, stderr: bool = False) -> Console:
    """A console on standard output, or on standard error if standard output is reserved for programs. It is as wide as the
    terminal; in a pipe it has `width` characters."""
    terminal = _Console(stderr=stderr)
    return terminal if terminal.is_terminal else _Console(width=width, stderr=stderr)


def plain_table(*heads: str, title: str = "") -> Table:
    """A table with a line below its heads and no other; long texts are wrapped, never cut."""
    columns = (Column(head, overflow="fold") for head in heads)
    return Table(*columns, title=title or None, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """The option --json FILE of a verb. Without FILE, or with -, JSON is printed and the rest goes to standard error."""
    text = f"write {what} to this file as JSON; without FILE, print it"
    parser.add_argument("--json", nargs="?", const=PRINTED, type=Path, action=_JsonFile, metavar="FILE", help=text)


class _JsonFile(argparse.Action):
    """Checks, before any work, that the file can be written."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, value: Any, option: str | None = None) -> None:
        output_file("--json", value)
        # A name without a suffix is more likely an argument of the verb than a file: `audit --json lpa`.
        if value != PRINTED and not value.suffix and not value.is_absolute():
            raise UserError(f"--json {value} is not the name of a file such as found.json: give --json last to print")
        namespace.json = value


def write_json(path: Path, value: Any) -> None:
    """A value as JSON into a file, or to standard output."""
    text = json.dumps(plain_json(value), indent=1, ensure_ascii=False, allow_nan=False)
    if path == PRINTED:
        print(text)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


def plain_json(value: Any) -> Any:
    """The same with dataclasses as objects, and null for numbers that are infinite or missing, which JSON does not have."""
    if dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def notes() -> Console:
    """Standard error: progress and warnings."""
    return _Console(stderr=True, highlight=False)


def warn_of_old(results: Path, console: Console) -> None:
    """Print that trials of an earlier version are in a folder, if there are."""
    if is_old(results):
        console.print(f"{results} was written by an earlier version of dpbench: its trials are not read")


def print_left_out(combinations: Iterable[tuple[str, str]]) -> None:
    """Print what was left out, by reason."""
    by_reason: dict[str, list[str]] = {}
    for combination, reason in combinations:
        by_reason.setdefault(reason, []).append(combination)
    for reason, alike in by_reason.items():
        notes().print(f"left out: {escape(', '.join(alike))}: {escape(reason)}")
