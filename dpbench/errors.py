"""Errors that a user can cause. Imported by every package; imports nothing of ours."""

from __future__ import annotations

import difflib
import os
import re
import traceback
from collections.abc import Iterable
from numbers import Real
from pathlib import Path
from typing import Any

NEAR = 0.6  # similarity above which a name is suggested: "nosuch" must not suggest "census"


class UserError(ValueError):
    """Wrong use: shown as one line, exit status 2, never with a traceback."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows instead of the traceback."""
        return _in_a_notebook(self)


class Failed(Exception):
    """Work that failed for a reason the user can understand: shown as one line, exit status 1."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows instead of the traceback."""
        return _in_a_notebook(self)


def _in_a_notebook(error: Exception) -> list[str]:
    """The user's own lines that led to an error, and its message; not the frames of this package, nor those of the notebook."""
    ours = (str(Path(__file__).parent), f"{os.sep}IPython{os.sep}")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not any(folder in frame.filename for folder in ours)]
    return [*(f"line {frame.lineno}: {frame.line}" for frame in own if frame.line), f"dpbench: {error}"]


class Damaged(UserWarning):
    """A stored file that cannot be read and is skipped. The user is told and can run again."""


def nearest(word: object, valid: Iterable[str]) -> str:
    """The helpful part of an error message: the nearest valid name, or the whole list when none is near."""
    names = [str(name) for name in valid]
    given = str(word).lower()[:200]  # difflib is slow on long words
    close = difflib.get_close_matches(given, names, n=3, cutoff=NEAR)
    if close:
        # Two swapped neighbouring letters are the most common typing error, and difflib does not recognise it.
        slips = {given[:i] + given[i + 1] + given[i] + given[i + 2 :] for i in range(len(given) - 1)}
        swapped = [name for name in close if name in slips]
        return f"did you mean {(swapped or close)[0]!r}?"
    return f"expected one of: {', '.join(sorted(names))}"


def placed(place: str, message: object) -> UserError:
    """An error about the content of a file. `place` is the file and line, or empty."""
    return UserError(f"{place}: {message}" if place else str(message))


def unknown(what: str, name: object, valid: Iterable[str], place: str = "") -> UserError:
    """The error for a name that is not among the valid ones. `place`: the file and line that hold it."""
    names = [str(one) for one in valid]
    hint = nearest(name, names) if names else "expected none"
    return placed(place, f"unknown {what} {str(name)!r}: {hint}")


def no_parameter(what: str, key: object, valid: Iterable[str], place: str = "") -> UserError:
    """The error for a parameter that a class does not have. `what`: `mechanism 'gs'`."""
    names = [str(one) for one in valid]
    hint = nearest(key, names) if names else "it takes none"
    return placed(place, f"{what} has no parameter {str(key)!r}: {hint}")


def one_of(what: str, value: object, valid: Iterable[str]) -> None:
    """Raise unless `value` is one of the valid words for the parameter `what`."""
    names = list(valid)
    if not isinstance(value, str) or value not in names:
        raise UserError(f"{what}={value!r} is not valid: {nearest(value, names)}")


def positive(what: str, value: Any, *, whole: bool = False) -> None:
    """Raise unless `value` is a finite positive number (a whole one where asked)."""
    number = isinstance(value, Real) and not isinstance(value, bool)  # numpy's numbers too
    if not number or not 0 < value < float("inf") or (whole and value != int(value)):
        raise UserError(f"{what}={value!r} is not valid: expected a positive {'whole ' if whole else ''}number")


def output_file(option: str, path: Path | None) -> None:
    """Raise unless a file can be written at `path`. Called before the work starts, so that no work is lost."""
    if path is None:
        return
    if path.is_dir():
        raise UserError(f"{option} {path} is a folder: expected a file to write")
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir():
        raise UserError(f"{option} {path}: {above} is a file: expected a folder there")


def output_folder(option: str, path: Path) -> None:
    """Raise unless `path` is a folder or can be created. `option` is spelled as by the user: `results=` or `--results `."""
    for place in (path.absolute(), *path.absolute().parents):
        if os.path.isdir(place):  # pathlib's test raises for names that are too long
            return
        if os.path.lexists(place):
            which = "it" if place == path.absolute() else str(place)
            raise UserError(f"{option}{path} is not valid: {which} is a file, expected a folder")


NUMBER = r"(?<![^\W_])[-+]?\d(?:[\d,.]*\d)?(?:e[-+]?\d+)?"
"""A number in a message, not the digits of a name."""


def without_numbers(refusal: str, parameters: Iterable[str]) -> str:
    """A refusal without the numbers that may come from the data: only parameters keep theirs, as in `bound=3`."""
    kept = "|".join(map(re.escape, (*parameters, "epsilon")))
    return re.sub(rf"\b(?:{kept})=\S+|{NUMBER}", lambda part: part[0] if "=" in part[0] else "...", refusal)
