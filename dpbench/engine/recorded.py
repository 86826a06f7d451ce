"""Whether a record was made by the current code. Imported by the judge of claims and by `reproduce`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpbench.engine import identity
from dpbench.errors import UserError
from dpbench.fingerprints import digest
from dpbench.mechanisms.base import MECHANISMS
from dpbench.registry import Registry
from dpbench.results.record import Record
from dpbench.sources.base import SOURCES
from dpbench.tasks.base import TASKS

OURS = "dpbench"


def code_digest(classes: Mapping[str, tuple[str, ...]]) -> str:
    """One digest of the code of sources, mechanisms and tasks as installed; library versions do not count.

    Empty when one of them is not here any more, or is neither registered nor ours: what a record names is never imported.
    """
    if not all("." not in name or name.startswith(f"{OURS}.") for names in classes.values() for name in names):
        return ""
    registries: dict[str, Registry[Any]] = {"source": SOURCES, "mechanism": MECHANISMS, "task": TASKS}
    try:
        found = [registries[kind].get(name) for kind, names in classes.items() for name in names]
    except (UserError, KeyError):
        return ""
    return digest(dict(identity.setting_code(found, (), ()).modules))


def is_current(record: Record) -> bool:
    """Whether the code that ran is the code that is here."""
    return code_digest(record.classes) == record.code != ""


def told(record: Record) -> str:
    """Where a recorded number comes from, as text."""
    changed = "" if is_current(record) else ", the code has changed since"
    return f"recorded at {record.commit}{changed}"
