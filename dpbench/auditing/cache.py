"""Stored results of audits: the findings in a results folder, and answers that the same code gives again.

`audit.json` (sealed) has one entry per mechanism and choice of parameters, to show them without running anything. It may come
from somebody else. The cache has one sealed file per question that a claim asked. Imported by the `audit` verb, the
report, the ranking and the claims.
"""

from __future__ import annotations

import contextlib
import functools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpbench import __version__, paths
from dpbench.code_reader import CORE
from dpbench.errors import Damaged
from dpbench.identity import code_of, digest
from dpbench.model.finding import Finding
from dpbench.storage import seals
from dpbench.storage.files import inside, is_inside, read_whole, set_aside, write_atomic

FILE = "audit.json"
RECORDED = "audits.sealed"
"""The file of the record with the answers to the claims. Not .json: those are experiments."""


@dataclass(frozen=True)
class StoredFinding:
    """A finding, and when and by which version it was made."""

    finding: Finding
    seed: int
    version: str
    written: str
    """UTC, to the minute."""

    @property
    def name(self) -> tuple[str, str]:
        return self.finding.mechanism, self.finding.parameters


@dataclass(frozen=True)
class AuditFile:
    """The content of `audit.json`."""

    schema: int
    entries: tuple[StoredFinding, ...]


SCHEMA = 1  # version of `audit.json`


def audit_file(results: Path) -> Path:
    return results / FILE


def store(results: Path, findings: Sequence[Finding], seed: int, *, anew: bool) -> Path:
    """Write findings; `anew`: drop those of earlier audits. Returns the file."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    new = [StoredFinding(finding, seed, __version__, now) for finding in findings]
    replaced = {entry.name for entry in new}
    earlier = [] if anew else [entry for entry in stored(results) if entry.name not in replaced]
    path = inside(results, audit_file(results))
    body = seals.plain(AuditFile(SCHEMA, (*earlier, *new)))
    for entry in body["entries"]:
        if math.isinf(entry["finding"]["loss"]):
            entry["finding"]["loss"] = None  # JSON has no infinite number
    write_atomic(path, seals.seal(body).encode())
    return path


def stored(results: Path) -> list[StoredFinding]:
    """The stored findings; empty if there is no file. A damaged file is reported, set aside, and left out."""
    path = audit_file(results)
    try:
        return _read(results, path)
    except FileNotFoundError:
        return []
    except OSError as error:
        warnings.warn(f"{path} cannot be read ({error.strerror}) and is skipped", Damaged, stacklevel=2)
    except ValueError as error:
        moved = set_aside(results, path)
        where = f"it is now {moved}" if moved else "it cannot be moved"
        warnings.warn(f"{path} is damaged ({error}) and skipped, {where}: audit again", Damaged, stacklevel=2)
    return []


def _read(results: Path, path: Path) -> list[StoredFinding]:
    if not is_inside(results, path):
        raise ValueError("it is a link")
    # Inside a text, quotation marks have a backslash: only a field is replaced.
    text = seals.checked(read_whole(path)).replace('"loss": null', '"loss": Infinity')
    file = seals.decode(AuditFile, text)
    if file.schema != SCHEMA:
        raise ValueError("it was written by another version of dpbench")
    for entry in file.entries:
        finding = entry.finding
        numbers = (finding.epsilon, finding.delta, finding.seconds)
        if not all(map(math.isfinite, numbers)) or math.isnan(finding.loss):
            raise ValueError("a number is not finite")
    return [*file.entries]


def cached(question: Any, mechanism: Any, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of `compute`, read from the cache or the record if the same code was asked the same before. Plain JSON values.

    The code is that of the mechanism and of the audit. If the file is damaged or cannot be written, it is computed again.
    """
    code = code_of(mechanism, files=(*CORE, "auditing/*.py", "claims/replays.py"))
    if not code.resumable:
        return compute()
    key = digest([question, code.digest])
    path = paths.cache() / "audits" / f"{key}.json"
    with contextlib.suppress(OSError, ValueError):
        return _answers.setdefault(key, seals.unseal(read_whole(path)))
    recorded = _recorded(paths.RECORD).get(key)
    answer = _answers[key] = compute() if recorded is None else recorded
    if recorded is None:
        with contextlib.suppress(OSError):
            write_atomic(path, seals.seal(answer).encode())
    return answer


_answers: dict[str, dict[str, Any]] = {}
"""The answers that this process has used, by question and code."""


def record_answers(folder: Path) -> Path:
    """Write the answers that this process has used to the record, so that a new installation need not compute them."""
    path = folder / RECORDED
    write_atomic(path, seals.seal({"answers": dict(sorted(_answers.items()))}).encode())
    return path


@functools.cache
def _recorded(folder: Path) -> dict[str, dict[str, Any]]:
    """The answers that come with the record. Those of other code have other keys; a damaged file counts as none."""
    try:
        answers = seals.unseal(read_whole(folder / RECORDED)).get("answers")
    except (OSError, ValueError):
        return {}
    return answers if isinstance(answers, dict) else {}
