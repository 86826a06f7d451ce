"""Classes chosen without a YAML: `mechanism=[lpa,mine.Rounded]`, by dotted path or by the name of an installed plugin.

Such a name is removed from the list and replaced by an entry: `mechanism.Rounded.class=mine.Rounded`. Parameters are then
given as usual: `mechanism.Rounded.step=5`. Imported by `compose`; imports the registries.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpbench.config import catalogue
from dpbench.config.catalogue import ENTRIES
from dpbench.config.origins import key_of
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.registry import Registry
from dpbench.sources.base import SOURCES
from dpbench.tasks.base import TASKS

REGISTRIES: dict[str, Registry] = {"mechanism": MECHANISMS, "task": TASKS, "dataset": SOURCES}  # type: ignore[type-arg]


def with_entries(words: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """The overrides, with an entry for each class that has no YAML."""
    found: list[str] = []
    for word in words:
        group, value = key_of(word), word.partition("=")[2]
        if group not in ENTRIES or word.startswith("~") or not value:
            found.append(word)
            continue
        names = [name.strip(" '\"") for name in value.strip("[] ").split(",")]
        known = catalogue.options(group, *folders)
        own = [name for name in names if name and name not in known and _is_class(group, name)]
        if not own:
            found.append(word)
            continue
        rest = [name for name in names if name and name not in own]
        found.append(f"{word.partition('=')[0]}=[{','.join(rest)}]")
        taken = [*rest, *known]
        for path in own:
            short = path.rpartition(".")[2]
            name = path.replace(".", "_") if short in taken else short
            taken.append(name)
            found += [f"++{group}.{name}.{key}={value}" for key, value in _entry(group, path).items()]
    return found


def _is_class(group: str, name: str) -> bool:
    """Whether a name is a dotted path or an installed plugin."""
    if "." in name:
        REGISTRIES[group].get(name)  # raises if it is not valid
        return True
    return name.isidentifier() and name in REGISTRIES[group].names() and _is_plugin(group, name)


def _is_plugin(group: str, name: str) -> bool:
    """Whether a name is a user's plugin. Our classes have a YAML or are used by one; a reader alone is not a dataset."""
    return not REGISTRIES[group].get(name).__module__.startswith("dpbench.")


def _entry(group: str, path: str) -> dict[str, str]:
    if group != "dataset":
        return {"class": path}
    kinds = getattr(SOURCES.get(path), "kinds", ())
    if not kinds:
        raise UserError(f"dataset {path!r} does not say in `kinds` which data it builds")
    return {"source": "generator", "generator": path, "kind": str(kinds[0])}
