"""What goes wrong by a user's hand. Imported by everyone, imports nothing of ours."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from numbers import Real
from pathlib import Path
from typing import Any


class UserError(ValueError):
    """Wrong use: shown as one line, exit status 2, never with a traceback."""


class Failed(Exception):
    """Work that failed for a reason the user can understand: shown as one line, exit status 1."""


class Damaged(UserWarning):
    """A stored file that cannot be read and is passed over: told to the user, who can run again."""


def nearest(word: object, valid: Iterable[str]) -> str:
    """The part of an error message that helps: the nearest valid name, or the list when nothing is near."""
    names = [str(name) for name in valid]
    close = difflib.get_close_matches(str(word).lower(), names, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"expected one of: {', '.join(sorted(names))}"


def one_of(what: str, value: object, valid: Iterable[str]) -> None:
    """Raise unless `value` is one of the valid words for the parameter `what`."""
    names = list(valid)
    if value not in names:
        raise UserError(f"{what}={value!r} is not valid: {nearest(value, names)}")


def positive(what: str, value: Any, *, whole: bool = False) -> None:
    """Raise unless `value` is a finite positive number (a whole one where asked)."""
    number = isinstance(value, Real) and not isinstance(value, bool)  # numpy's numbers too
    if not number or not 0 < value < float("inf") or (whole and value != int(value)):
        raise UserError(f"{what}={value!r} is not valid: expected a positive {'whole ' if whole else ''}number")


def output_file(option: str, path: Path | None) -> None:
    """Raise unless a file can stand there: known before the work, not after it."""
    if path is None:
        return
    if path.is_dir():
        raise UserError(f"{option} {path} is a folder: expected a file to write")
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir():
        raise UserError(f"{option} {path}: {above} is a file: expected a folder there")
