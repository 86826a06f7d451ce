"""What a result is named by: parameters and seed, the data's content, and the code that ran.

Imported by the plan, which names the settings, and by the worker, which refuses what its own code or data would not compute.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import Any

from dpbench.codes import Code, code_of
from dpbench.fingerprints import digest
from dpbench.seals import files_digest

MOST = 4  # differences named in a message
SCHEMA = 2  # version of the stored rows
SESSION = "DPBENCH_SESSION"
WORKER = "dpbench.engine.worker"  # by name: the worker imports this module


def setting_code(source: Any, mechanism: Any, task: Any) -> Code:
    """The code that builds the data, releases, scores, and that seeds and measures all this.

    Each is a class or an instance. An instance also counts the code of what its parameters hold, as a mechanism inside a
    mechanism. For data that were given and not built, `source` is the class of the data.
    """
    return code_of(source, mechanism, task, WORKER)


def declared_files(*parts: Any) -> str:
    """One digest of the files that a mechanism and a task say they read (`files()`); empty when they say none."""
    found = [list(part.files()) for part in parts if callable(getattr(part, "files", None))]
    return digest([files_digest(paths) for paths in found]) if any(found) else ""


def setting_id(key: str, seed: int, fingerprint: str, code: Code, files: str = "", schema: int = SCHEMA) -> str:
    """The name under which the trials of a setting are stored. `files`: what `declared_files` gives."""
    return digest([key, seed, fingerprint, code.digest, schema, *filter(None, [files, _session(code)])])


def _session(code: Code) -> str:
    """Code that cannot be read may have changed since: its results hold for this process and the workers it starts."""
    return "" if code.resumable else os.environ.setdefault(SESSION, uuid.uuid4().hex)


def session() -> str:
    """The name of this process, as far as something was ever named by it: its workers must know it."""
    return os.environ.get(SESSION, "")


def join(name: str) -> None:
    """Take part in the work of another process, whose code that cannot be read counts by that process."""
    if name:
        os.environ[SESSION] = name


def differences(ours: Code, modules: Mapping[str, str], distributions: Mapping[str, str]) -> str:
    """In what another process's code is not ours, in a few words."""
    found = []
    for name in sorted({*ours.distributions, *distributions}):
        here, there = (known.get(name) for known in (ours.distributions, distributions))
        if here != there:
            found.append(f"{name} {there or 'is not there'} instead of {here}" if here else f"{name} {there} as well")
    names = {*ours.modules, *modules}
    found += sorted(name for name in names if ours.modules.get(name) != modules.get(name))
    found = found or list(ours.reasons) or ["the files that its mechanism or task reads"]
    return ", ".join(found[:MOST]) + (f" and {len(found) - MOST} more" if len(found) > MOST else "")
