"""Overrides in Hydra's grammar: made from typed settings, and separated from flags in a command line.

Imported by `compose` and the verb `run`; does not know what the overrides mean.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpbench.errors import UserError

Value = None | bool | int | float | str | Path | Sequence["Value"] | Mapping[str, "Value"]
"""What an override may be set to."""
# Flags of Hydra whose value is the next argument.
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
VALUED = ("--config-dir", "-cd", "--cfg", "-c", "--package", "-p")


def override(key: str, value: Value) -> str:
    """A setting and its value as an override in Hydra's grammar."""
    return f"{key}={_literal(value)}"


def _literal(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value) if isinstance(value, int) or math.isfinite(value) else str(value)
    if isinstance(value, str | Path):
        return quoted(str(value))
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_literal(inner)}" for key, inner in value.items()) + "}"
    return "[" + ",".join(_literal(inner) for inner in value) + "]"


def quoted(text: str) -> str:
    if re.fullmatch(r"[A-Za-z_][\w/-]*", text) and text.lower() not in ("true", "false", "null", "nan", "inf"):
        return text
    # Hydra's grammar interprets backslashes only before a quote and at the end.
    escaped = re.sub(r"(\\*)'", lambda m: m[1] * 2 + r"\'", text)
    escaped = re.sub(r"(\\+)$", lambda m: m[1] * 2, escaped)
    return f"'{escaped}'"


def split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Flags with their values, and overrides, wherever the user wrote them."""
    flags: list[str] = []
    overrides: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word in ("--info", "-i"):  # its value is optional, and an override would be taken for it
            value = next(rest, None)
            flags.append(f"--info={value if value in INFO else 'all'}")
            overrides += [value] if value is not None and value not in INFO else []
        elif word.startswith("-"):
            flags.append(word)
            flags.extend([value for value in [next(rest, None)] if value is not None] if word in VALUED else [])
        else:
            overrides.append(word)
    return flags, overrides


def config_dirs(argv: Sequence[str]) -> list[Path]:
    """The user's own configuration folders; classes in them can be imported."""
    found = []
    for i, word in enumerate(argv):
        if word in ("--config-dir", "-cd") and i + 1 < len(argv):
            found.append(Path(argv[i + 1]))
        elif word.startswith("--config-dir="):
            found.append(Path(word.partition("=")[2]))
    for folder in found:
        add_folder(folder)
    return found


def add_folder(folder: Path) -> None:
    """Make the classes of a configuration folder importable; UserError if it does not exist."""
    if not os.path.isdir(folder):
        raise UserError(f"--config-dir {folder}: there is no such folder")
    if str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))
