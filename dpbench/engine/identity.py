"""What identifies a result: parameters and seed, the data's content, and the code that ran.

Imported by the plan, which computes ids, and by the worker, which refuses work if its own code or data differ.
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
WORKER = "dpbench.engine.worker"  # by name, because the worker imports this module


def setting_code(source: Any, mechanism: Any, task: Any) -> Code:
    """The code that builds the data, releases, scores, and that seeds and measures all this.

    Each is a class or an instance. An instance also counts the code of its parameters, such as a mechanism inside a
    mechanism. For data that was given and not built, `source` is the class of the data.
    """
    return code_of(source, mechanism, task, WORKER)


def declared_files(*parts: Any) -> str:
    """One digest of the files that a mechanism and a task declare (`files()`); empty if they declare none."""
    found = [list(part.files()) for part in parts if callable(getattr(part, "files", None))]
    return digest([files_digest(paths) for paths in found]) if any(found) else ""


def setting_id(key: str, seed: int, fingerprint: str, code: Code, files: str = "", schema: int = SCHEMA) -> str:
    """The id under which the trials of a setting are stored. `files`: the result of `declared_files`."""
    return digest([key, seed, fingerprint, code.digest, schema, *filter(None, [files, _session(code)])])


def _session(code: Code) -> str:
    """Code without source may have changed since: its results are valid only for this process and its workers."""
    return "" if code.resumable else os.environ.setdefault(SESSION, uuid.uuid4().hex)


def session() -> str:
    """The name of this process if any result depends on it, otherwise empty: its workers must know it."""
    return os.environ.get(SESSION, "")


def join(name: str) -> None:
    """Work for another process: code without source is then identified by that process."""
    if name:
        os.environ[SESSION] = name


def differences(ours: Code, modules: Mapping[str, str], distributions: Mapping[str, str]) -> str:
    """How another process's code differs from ours, in a few words."""
    found = []
    for name in sorted({*ours.distributions, *distributions}):
        here, there = (known.get(name) for known in (ours.distributions, distributions))
        if here != there:
            found.append(f"{name} {there or 'is missing'} instead of {here}" if here else f"{name} {there} as well")
    names = {*ours.modules, *modules}
    found += sorted(name for name in names if ours.modules.get(name) != modules.get(name))
    found = found or list(ours.reasons) or ["the files that its mechanism or task reads"]
    return ", ".join(found[:MOST]) + (f" and {len(found) - MOST} more" if len(found) > MOST else "")
