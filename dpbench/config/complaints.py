"""What Hydra and OmegaConf say of a user's mistake, as one line that names the file, the word and what was expected.

Imported by `compose`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from dpbench.config import catalogue
from dpbench.config.catalogue import ENTRIES, GROUPS
from dpbench.config.origins import key_of, named
from dpbench.config.single import SECTIONS
from dpbench.errors import UserError, unknown


def translated(error: Exception, words: Sequence[str], folders: Sequence[Path]) -> UserError:
    """A user's mistake that caused an error in Hydra or OmegaConf, as one line."""
    if isinstance(error, UserError):
        return error
    text = str(error)
    if "Config group override must be a string or a list" in text:
        return UserError("a group cannot be null: leave it out, or give one of its options (see run --help)")
    if found := re.search(r"Could not (?:load|find) '(\w+)/([^']+)'", text):
        group, name = found.groups()
        return unknown(group, name, _near(group, name, folders))
    if found := re.search(r"Could not override '([^']+)'", text):
        return unknown("setting", found[1], all_settings())
    if type(error).__name__ == "OverrideParseException":
        word = getattr(error, "override", "") or ""
        return UserError(f"cannot read {word!r}: expected key=value or key=[a,b]; are brackets and quotes closed?")
    if problem := _file_problem(words, folders):
        return UserError(problem)
    for word in words:  # Hydra's message about a value of the wrong type is about its internals
        group, value = key_of(word), word.partition("=")[2]
        named = re.fullmatch(r"\[?\s*([A-Za-z][\w/.-]*\s*,?\s*)*\]?", value) and value not in ("true", "false")
        if group in GROUPS and (word.startswith("~") or not named):
            form = f"{group}=[NAME,...]" if group in ENTRIES else f"{group}=NAME"
            names = ", ".join(catalogue.options(group, *folders))
            return UserError(f"cannot read {word!r}: expected {form}, of: {names}")
    first = " ".join(text.split("\n")[0].split())
    return UserError(f"cannot compose this run: {first or type(error).__name__}")


def _file_problem(words: Sequence[str], folders: Sequence[Path]) -> str:
    """What is wrong in the YAML of the experiment or of an entry; empty if nothing is, or none is named."""
    names = [word.partition("=")[2].strip("'\"") for word in words if key_of(word) == "experiment"]
    try:
        _read_chosen(words, names[-1:], folders)
        for document in catalogue.chain(names[-1], *folders) if names else ():
            for group in ENTRIES:
                if document.has(group) and not isinstance(document.mapping[group], Mapping):
                    value = document.mapping[group]
                    shown = f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)
                    right = f"expected `- override /{group}: {shown}` in `defaults`"
                    return f"{document.place(group)}: `{group}: {shown}` chooses nothing: {right}"
            for group, cls in SECTIONS.items():
                if document.has(group) and not isinstance(document.mapping[group], Mapping):
                    valid = ", ".join(f.name for f in fields(cls))
                    return f"{document.place(group)}: expected keys of {group}: {valid}"
    except UserError as error:
        return str(error)
    return ""


def _read_chosen(words: Sequence[str], experiments: Sequence[str], folders: Sequence[Path]) -> None:
    """Read every YAML that was chosen; UserError with the file and line of the first one that is not valid."""
    chosen = {group: list(named(word)) for word in words if (group := key_of(word)) in GROUPS}
    for experiment in experiments:
        whole = catalogue.axes(experiment, *folders)
        for group, defined in zip(ENTRIES, (whole.datasets, whole.mechanisms, whole.tasks), strict=True):
            chosen.setdefault(group, list(defined))
    for group, names in chosen.items():
        for name in names:
            catalogue.option(group, name, *folders)


def _near(group: str, name: str, folders: Sequence[Path]) -> Iterator[str]:
    names = catalogue.options(group, *folders)
    # `fig9` means `gs/fig9`, although the two strings are not similar.
    ends = [n for n in names if n.rpartition("/")[2] == name]
    yield from ends or names


def all_settings() -> list[str]:
    """Every key that an override may set, except the parameters of entries."""
    return [*catalogue.settings(), *section_keys(), *GROUPS]


def section_keys() -> list[str]:
    return [f"{name}.{f.name}" for name, cls in SECTIONS.items() for f in fields(cls)]
