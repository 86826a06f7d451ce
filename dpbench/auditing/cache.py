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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpbench import __version__, paths
from dpbench.code_reader import CORE
from dpbench.errors import Damaged
from dpbench.identity import code_of, digest
from dpbench.model.environment import Environment
from dpbench.model.finding import Finding
from dpbench.storage import seals
from dpbench.storage.files import inside, is_inside, read_whole, set_aside, write_atomic

FILE = "audit.json"
CHANGED = "the code has changed since"
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


def cached(
    question: Any, mechanism: Any, compute: Callable[[], dict[str, Any]], record: Path | None = None
) -> tuple[dict[str, Any], str]:
    """The result of `compute`, read from the cache or the record if the same code was asked the same before. Plain JSON values.

    The code is that of the mechanism and of the audit. If the file is damaged or cannot be written, it is computed again.
    record: the folder of a record whose answer is taken even if the code has changed since. The second value then says so; it is
    empty if the answer is that of the present code.
    """
    code = code_of(mechanism, files=(*CORE, "auditing/*.py", "claims/replays.py"))
    if not code.resumable:
        return compute(), ""
    name = digest(question)
    path = paths.cache() / "audits" / f"{digest([question, code.digest])}.json"
    answer: dict[str, Any] | None = None
    with contextlib.suppress(OSError, ValueError):
        answer = seals.unseal(read_whole(path))
    if answer is None:
        recorded = _recorded(record or paths.RECORD).get(name)
        if recorded is not None and recorded.code == code.digest:
            answer = asdict(recorded.answer)
        elif recorded is not None and record is not None:
            return asdict(recorded.answer), f"recorded at {recorded.commit}, {CHANGED}"
    if answer is None:
        answer = compute()
        with contextlib.suppress(OSError):
            write_atomic(path, seals.seal(answer).encode())
    _answers[name] = code.digest, answer
    return answer, ""


@dataclass(frozen=True)
class Answer:
    """What an audit found about one mechanism with its parameters, for a claim."""

    value: float
    """The largest value over all pairs; infinite if something that must be equal on both neighbours is not."""
    pairs: int
    """Number of pairs examined; the search stops at the first infinite value."""
    method: str
    pair: str = ""
    step: str = ""
    reason: str = ""
    """What differs on the pair."""
    undecided: str = ""
    """If no violation was found: why that proves nothing."""


@dataclass(frozen=True)
class RecordedAnswer:
    """An answer, and by which code it was found."""

    code: str
    commit: str
    answer: Answer


@dataclass(frozen=True)
class RecordedAnswers:
    """The content of `audits.sealed`: the answers by question."""

    answers: Mapping[str, RecordedAnswer]


_answers: dict[str, tuple[str, dict[str, Any]]] = {}
"""The code and the answers that this process has used, by question; all are of the present code."""


def record_answers(folder: Path) -> Path:
    """Write the answers that this process has used to the record, so that a new installation need not compute them."""
    path = folder / RECORDED
    here = Environment.here()
    commit = here.commit or here.versions.get("dpbench-repro", "an unknown version")
    known = {field.name for field in fields(Answer)}
    answers = {
        name: RecordedAnswer(code, commit, Answer(**answer))
        for name, (code, answer) in sorted(_answers.items())
        if answer.keys() == known
    }
    write_atomic(path, seals.seal(seals.plain(RecordedAnswers(answers))).encode())
    return path


@functools.cache
def _recorded(folder: Path) -> Mapping[str, RecordedAnswer]:
    """The answers that come with the record. A damaged file counts as none."""
    try:
        return seals.decode(RecordedAnswers, seals.checked(read_whole(folder / RECORDED))).answers
    except (OSError, ValueError):
        return {}
