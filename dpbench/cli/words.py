"""Checks the arguments of `run` before Hydra sees them: recognises the style of other command lines, and shows the right one.

Hydra would take `--experiment` for an abbreviation of one of its own options, and a bare word for a malformed override.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from dpbench.config import catalogue
from dpbench.config.catalogue import ENTRIES, GROUPS
from dpbench.config.complaints import all_settings
from dpbench.config.words import INFO, VALUED
from dpbench.errors import UserError, nearest, one_of, unknown

# Flags of Hydra that are allowed here; those that use another configuration or unpickle a file are not.
FLAGS = ("--help", "-h", "--hydra-help", "--multirun", "-m", "--resolve", "--info", "-i", "--run", "-r")
OWN = ("--verbose",)  # our own flags, which Hydra never sees
VALUES = {
    "--cfg": ("job", "hydra", "all"),
    "--info": INFO,
}
SHORT = {"-c": "--cfg", "-i": "--info"}
# Names of our settings in other programs.
ALIASES = {
    "jobs": "runner.jobs",
    "shard": "runner.shard",
    "uri": "tracking.uri",
    "dry_run": "dry",
    "output": "results",
    "eps": "epsilon",
}
BRIEF = {"dry": "true", "figure": "true"}  # the value of a flag without a value


def check_words(argv: Sequence[str], folders: Sequence[Path]) -> None:
    """UserError with the right command if `argv` is not valid for `run`."""
    words = _Words(list(argv), folders)
    right = words.corrected()
    if words.problems:
        command = shlex.join(["python", "-m", "dpbench", "run", *dict.fromkeys(right)])
        raise UserError(f"{'; '.join(words.problems)}. Did you mean: {command}")


class _Words:
    def __init__(self, argv: list[str], folders: Sequence[Path]) -> None:
        self.rest, self.folders = argv, folders
        self.sweep = "-m" in argv or "--multirun" in argv
        self.problems: list[str] = []
        self.settings = all_settings()

    def corrected(self) -> list[str]:
        """The corrected arguments; `problems` says what was wrong."""
        found: list[str] = []
        while self.rest:
            word = self.rest.pop(0)
            if word.startswith("-") and word != "-":
                found += self._flag(word)
            elif "=" in word or word.startswith(("~", "+")):
                found.append(self._override(word))
            else:
                found.append(self._bare(word))
        return found

    def _flag(self, word: str) -> list[str]:
        name, equals, value = word.partition("=")
        if name in VALUED or (name in ("--info", "-i") and self.rest and self.rest[0] in VALUES["--info"]):
            if not equals and (not self.rest or ("=" in self.rest[0] and "config" not in name)):
                raise UserError(f"{word} needs a value: see python -m dpbench run --help")
            value = value if equals else self.rest.pop(0)
            one_of(name, value, VALUES.get(SHORT.get(name, name), (value,)))
            return [word] if equals else [word, value]
        if name in FLAGS + OWN:
            if equals:
                raise UserError(f"{name} takes no value, found {value!r}")
            return [word]
        key = self._setting(name.lstrip("-").replace("-", "_"))
        if key is None:
            raise unknown("option", name, [*VALUED, *FLAGS, *OWN, *(f"--{s}" for s in self.settings)])
        self.problems.append(f"{name} is not an option of run: settings are given as {key}=VALUE")
        values = [value] if equals else []
        while not equals and self.rest and "=" not in self.rest[0] and not self.rest[0].startswith("-"):
            values.append(self.rest.pop(0))
        return [f"{key}={_joined(values) if values else BRIEF.get(key, 'VALUE')}"]

    def _override(self, word: str) -> str:
        key, equals, value = word.partition("=")
        if not self.sweep and equals and key.lstrip("+") != "experiment" and _several(value):
            self.problems.append(f"{word!r} needs brackets around several values (or -m, for one run each)")
            return f"{key}=[{value}]"
        return word

    def _bare(self, word: str) -> str:
        key = self._setting(word)
        if key is not None and self.rest and not self.rest[0].startswith("-"):
            if self.rest[0] == "=":
                self.rest.pop(0)
            value = self.rest.pop(0).removeprefix("=") if self.rest else "VALUE"
            if "=" in value:
                self.rest.insert(0, value)
                value = BRIEF.get(key, "VALUE")
            self.problems.append(f"{word!r} needs an equals sign before its value")
            return f"{key}={value}"
        if key in BRIEF:
            self.problems.append(f"{word!r} needs a value")
            return f"{key}={BRIEF[key]}"
        if meant := self._meant(word):
            others = f", or {', '.join(meant[1:])}" if len(meant) > 1 else ""
            self.problems.append(f"{word!r} needs its setting: {meant[0]}{others}")
            return meant[0]
        names = [name for group in GROUPS for name in catalogue.options(group, *self.folders)]
        near = nearest(word, names)
        hint = f"; {near}" if near.startswith("did") else ", or see: python -m dpbench run --help"
        raise UserError(f"cannot read {word!r}: expected key=value, such as experiment=gs/fig9{hint}")

    def _meant(self, word: str) -> list[str]:
        """The overrides that a bare name may mean; empty if it is unknown."""
        for group in ("experiment", "scale", "mechanism", "dataset", "task", "runner"):
            names = catalogue.options(group, *self.folders)
            if full := [n for n in names if word in (n, n.rpartition("/")[2])]:
                return [f"{group}=[{name}]" if group in ENTRIES else f"{group}={name}" for name in full]
        return []

    def _setting(self, name: str) -> str | None:
        name = ALIASES.get(name, name)
        plural = {f"{s}s": s for s in self.settings}
        return name if name in self.settings else plural.get(name)


def _several(value: str) -> bool:
    """Whether there are commas outside of brackets and quotes."""
    outside = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "", value)
    depth = 0
    for letter in outside:
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and depth == 0:
            return True
    return False


def _joined(values: list[str]) -> str:
    return values[0] if len(values) == 1 and not _several(values[0]) else f"[{','.join(values)}]"
