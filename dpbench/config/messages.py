"""What a user reads about a wrong command line or YAML: one line with the word, its place and the nearest valid one.

`check_words` reads the arguments of `run` before Hydra sees them, `translated` what Hydra and OmegaConf complain about.
Imported by `compose` and the verb `run`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from dpbench.config import catalogue
from dpbench.config.catalogue import ENTRIES, GROUPS
from dpbench.config.overrides import INFO, VALUED, key_of, names_of, several
from dpbench.config.schema import SECTIONS
from dpbench.errors import UserError, nearest, one_of, unknown

# Flags of Hydra that are allowed here; those that use another configuration or unpickle a file are not.
FLAGS = ("--help", "-h", "--hydra-help", "--multirun", "-m", "--resolve", "--info", "-i", "--run", "-r")
OWN = ("--verbose",)  # our own flags, which Hydra never sees
VALUES = {"--cfg": ("job", "hydra", "all"), "-c": ("job", "hydra", "all"), "--info": INFO, "-i": INFO}
PLUGINS = {"launcher": ("joblib", "ray", "rq", "submitit"), "sweeper": ("ax", "nevergrad", "optuna")}
"""Packages with launchers and sweepers for Hydra: hydra-joblib-launcher and so on."""
LISTS = ("epsilon", "metrics", "runner.directives", *ENTRIES)
"""Settings that may have several values, beside the parameters of datasets, mechanisms and tasks."""


def all_settings() -> list[str]:
    """Every key that an override may set, except the parameters of entries."""
    return [*catalogue.settings(), *section_keys(), *GROUPS]


def section_keys() -> list[str]:
    return [f"{name}.{f.name}" for name, cls in SECTIONS.items() for f in fields(cls)]


# Arguments of `run`.


def check_words(argv: Sequence[str], folders: Sequence[Path]) -> None:
    """Raise for a flag or a word that is not valid. Hydra would take `--experiment` for an abbreviation of one of its own
    flags, and a bare word for a malformed override."""
    rest = list(argv)
    sweep = {"-m", "--multirun"} & {*argv}
    while rest:
        word = rest.pop(0)
        key, equals, value = word.partition("=")
        if word.startswith("-") and word != "-":
            _check_flag(word, rest)
        elif not equals and not word.startswith(("~", "+")):
            raise _bare(word, folders)
        elif key_of(word).startswith("hydra.run."):
            raise UserError(f"{key} has no effect: give results=FOLDER, where everything is written")
        elif word.startswith("~") and key_of(word).partition(".")[0] in GROUPS and key_of(word).count(".") < 2:
            raise _expected(word, folders)
        elif several(value) and not sweep and key_of(word) != "experiment":
            listed = key_of(word) in LISTS or key.count(".") > 1
            brackets = (
                f"expected brackets for a list, '{key}=[{value}]', or -m" if listed else "expected one value, or -m"
            )
            raise UserError(f"{word!r} has several values: {brackets} for one run with each")


def _check_flag(word: str, rest: list[str]) -> None:
    """Raise for a flag that is not valid; its value is removed from `rest`."""
    name, equals, value = word.partition("=")
    if name in VALUED or (name in ("--info", "-i") and rest and rest[0] in INFO):
        if not equals and (not rest or ("=" in rest[0] and "config" not in name)):
            raise UserError(f"{word} needs a value: see python -m dpbench run --help")
        value = value if equals else rest.pop(0)
        one_of(name, value, VALUES.get(name, (value,)))
    elif name not in FLAGS + OWN:
        raise unknown("option", name, [*VALUED, *FLAGS, *OWN, *(f"{setting}=" for setting in all_settings())])
    elif equals:
        raise UserError(f"{name} takes no value, found {value!r}")


def _bare(word: str, folders: Sequence[Path]) -> UserError:
    """The error about a word without an equals sign. `fig9` means `gs/fig9`, although the two are not similar."""
    options = [(name, group) for group in GROUPS for name in catalogue.options(group, *folders)]
    named = [f"{group}={name}" for name, group in options if word in (name, name.rpartition("/")[2])]
    named += [f"{setting}=VALUE" for setting in all_settings() if word == setting]
    if named:
        return UserError(f"cannot read {word!r}: expected key=value: did you mean {' or '.join(named[:3])}?")
    hint = nearest(word, [name for name, _ in options])
    hint = hint if hint.startswith("did") else "see python -m dpbench run --help"
    return UserError(f"cannot read {word!r}: expected key=value, such as experiment=gs/fig9; {hint}")


def _expected(word: str, folders: Sequence[Path]) -> UserError:
    """The error about an override of a group that does not choose: `~dataset`, `~mechanism.gs`, `mechanism=5`."""
    group = key_of(word).partition(".")[0]
    form = f"{group}=[NAME,...]" if group in ENTRIES else f"{group}=NAME"
    names = ", ".join(catalogue.options(group, *folders))
    return UserError(f"cannot read {word!r}: expected {form}, of: {names}")


# What Hydra and OmegaConf say.


def translated(error: Exception, words: Sequence[str], folders: Sequence[Path]) -> UserError:
    """A user's mistake that caused an error in Hydra or OmegaConf, as one line."""
    if isinstance(error, UserError):
        return error
    text = str(error)
    if "Config group override must be a string or a list" in text:
        return UserError("a group cannot be null: leave it out, or give one of its options (see run --help)")
    if match := re.search(r"Could not (?:load|find) '(\w+)/([^']+)'", text):
        group, name = match.groups()
        if group == "hydra":
            return _no_plugin(name)
        names = catalogue.options(group, *folders)
        ends = [known for known in names if known.rpartition("/")[2] == name]  # `fig9` means `gs/fig9`
        return unknown(group, name, ends or names)
    if match := re.search(r"Could not override '([^']+)'", text):
        return unknown("setting", match[1], all_settings())
    if type(error).__name__ == "OverrideParseException":
        word = getattr(error, "override", "") or ""
        return UserError(f"cannot read {word!r}: expected key=value or key=[a,b]; are brackets and quotes closed?")
    if problem := _file_problem(words, folders):
        return UserError(problem)
    for word in words:  # Hydra's message about a value of the wrong type is about its internals
        group, value = key_of(word), word.partition("=")[2]
        valid = re.fullmatch(r"\[?\s*([A-Za-z][\w/.-]*\s*,?\s*)*\]?", value) and value not in ("true", "false")
        if group in GROUPS and not valid:
            return _expected(word, folders)
    first = " ".join(text.split("\n")[0].split())
    return UserError(f"cannot compose this run: {first or type(error).__name__}")


def _no_plugin(name: str) -> UserError:
    """The error about a launcher or sweeper of Hydra that is not installed, with the package to install."""
    kind, _, plugin = name.partition("/")
    known = next((part for part in PLUGINS.get(kind, ()) if plugin.startswith(part)), "")
    if not known:
        one_of(f"hydra/{kind}", plugin, ["basic", *PLUGINS.get(kind, ())])
    return UserError(f"hydra/{kind}={plugin} is not installed: pip install hydra-{known}-{kind}")


def _file_problem(words: Sequence[str], folders: Sequence[Path]) -> str:
    """What is wrong in the YAML of the experiment or of an entry; empty if nothing is, or none is named."""
    names = [word.partition("=")[2].strip("'\"") for word in words if key_of(word) == "experiment"]
    try:
        _read_chosen(words, names[-1:], folders)
        for document in catalogue.chain(names[-1], *folders) if names else ():
            for group in (*ENTRIES, *SECTIONS):
                if not document.has(group) or isinstance(value := document.mapping[group], Mapping):
                    continue
                if group in SECTIONS:
                    valid = ", ".join(f.name for f in fields(SECTIONS[group]))
                    return f"{document.place(group)}: expected keys of {group}: {valid}"
                shown = f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)
                right = f"expected `- override /{group}: {shown}` in `defaults`"
                return f"{document.place(group)}: `{group}: {shown}` chooses nothing: {right}"
    except UserError as error:
        return str(error)
    return ""


def _read_chosen(words: Sequence[str], experiments: Sequence[str], folders: Sequence[Path]) -> None:
    """Read every YAML that was chosen; UserError with the file and line of the first one that is not valid."""
    chosen = {group: list(names_of(word)) for word in words if (group := key_of(word)) in GROUPS}
    for experiment in experiments:
        whole = catalogue.axes(experiment, *folders)
        for group, defined in zip(ENTRIES, (whole.datasets, whole.mechanisms, whole.tasks), strict=True):
            chosen.setdefault(group, list(defined))
    for group, names in chosen.items():
        for name in names:
            catalogue.option(group, name, *folders)
