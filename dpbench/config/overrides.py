"""The words of a command line in Hydra's grammar: overrides made from typed values, taken apart, and separated from flags.

Imported by the rest of the configuration and by programs that compose runs; imports nothing of dpbench and does not know what
the overrides mean.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

OverrideValue = None | bool | int | float | str | Path | Sequence["OverrideValue"] | Mapping[str, "OverrideValue"]
"""What an override may be set to."""
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
"""The values of Hydra's flag `--info`."""
VALUED = ("--config-dir", "-cd", "--cfg", "-c", "--package", "-p")
"""Flags of Hydra whose value is the next argument."""


def override(key: str, value: OverrideValue) -> str:
    """A setting and its value as an override in Hydra's grammar."""
    return f"{key}={_literal(value)}"


def _literal(value: OverrideValue) -> str:
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


def key_of(word: str) -> str:
    """The key of an override: `mechanism.gs.w` of `++mechanism.gs.w=3`."""
    return word.lstrip("+~").partition("=")[0].partition("@")[0].strip()


def names_of(word: str) -> Iterator[str]:
    """The options that an override chooses: `lpa` and `gs` of `mechanism=[lpa,gs]`."""
    yield from filter(None, (name.strip(" '\"") for name in word.partition("=")[2].strip("[] ").split(",")))


def several(value: str) -> bool:
    """Whether there are commas outside of brackets and quotes."""
    outside = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "", value)
    depth = 0
    for letter in outside:
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and depth == 0:
            return True
    return False


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


def config_dirs(flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """The folders that `--config-dir` names, and the other flags: Hydra accepts `--config-dir` only once."""
    folders, others, rest = [], [], iter(flags)
    for flag in rest:
        if flag in ("--config-dir", "-cd"):
            folders += [folder for folder in [next(rest, None)] if folder is not None]
        elif flag.startswith("--config-dir="):
            folders.append(flag.partition("=")[2])
        else:
            others.append(flag)
    return folders, others
