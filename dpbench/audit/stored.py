"""The findings of the audit as a sealed file in a results folder, to show them without running anything.

One entry per mechanism and choice of parameters: a new audit replaces the entries it has findings for. The file may come
from somebody else: nothing that it names is imported or run, and control characters are removed. Imported by the
`audit` verb, the report and `compare`.
"""

from __future__ import annotations

import dataclasses
import math
import re
import typing
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpbench import __version__, seals
from dpbench.audit.finding import Finding
from dpbench.errors import Damaged
from dpbench.results.folder import inside, is_inside, read_whole, set_aside, write_aside

SCHEMA = 1
FILE = "audit.json"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Stored:
    """A finding, and when and by which version it was made."""

    finding: Finding
    seed: int
    version: str
    written: str
    """UTC, to the minute."""


def audit_file(results: Path) -> Path:
    return results / FILE


def store(results: Path, found: Sequence[Finding], seed: int, *, anew: bool) -> Path:
    """Write findings; `anew`: drop those of earlier audits. Returns the file."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    new = [Stored(finding, seed, __version__, now) for finding in found]
    replaced = {_name(each) for each in new}
    kept = [] if anew else [each for each in stored(results) if _name(each) not in replaced]
    path = inside(results, audit_file(results))
    write_aside(path, seals.seal({"schema": SCHEMA, "entries": [_packed(each) for each in [*kept, *new]]}).encode())
    return path


def stored(results: Path) -> list[Stored]:
    """The stored findings; empty if there is no file. A damaged file is reported, set aside, and left out."""
    path = audit_file(results)
    try:
        if not is_inside(results, path):
            raise ValueError("it is a link")
        body = seals.unseal(read_whole(path))
        if body.get("schema") != SCHEMA or not isinstance(body.get("entries"), list):
            raise ValueError("it was written by another version of dpbench")
        return [_unpacked(entry) for entry in body["entries"]]
    except FileNotFoundError:
        return []
    except OSError as error:
        warnings.warn(f"{path} cannot be read ({error.strerror}) and is skipped", Damaged, stacklevel=2)
    except ValueError as error:
        moved = set_aside(results, path)
        where = f"it is now {moved}" if moved else "it cannot be moved"
        warnings.warn(f"{path} is damaged ({error}) and skipped, {where}: audit again", Damaged, stacklevel=2)
    return []


def _name(each: Stored) -> tuple[str, str]:
    return each.finding.mechanism, each.finding.parameters


def _packed(each: Stored) -> dict[str, Any]:
    """JSON has no infinite number: an infinite loss is null."""
    finding = dataclasses.asdict(each.finding)
    finding["loss"] = None if math.isinf(each.finding.loss) else each.finding.loss
    return {"finding": finding, "seed": each.seed, "version": each.version, "written": each.written}


def _unpacked(entry: Any) -> Stored:
    if not isinstance(entry, dict) or entry.keys() != {"finding", "seed", "version", "written"}:
        raise ValueError("an entry has missing or extra fields")
    hints = typing.get_type_hints(Finding)
    told = entry["finding"]
    if not isinstance(told, dict) or told.keys() != hints.keys():
        raise ValueError("a finding has missing or extra fields")
    values = {name: _value(name, told[name], hint) for name, hint in hints.items()}
    rest = (_value("seed", entry["seed"], int), *(_value(name, entry[name], str) for name in ("version", "written")))
    return Stored(Finding(**values), *rest)


def _value(name: str, value: Any, hint: Any) -> Any:
    if name == "loss" and value is None:
        return math.inf
    if typing.get_origin(hint) is typing.Literal and value in typing.get_args(hint):
        return value
    if hint is str and isinstance(value, str):
        return _CONTROL.sub("?", value)
    if hint is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if hint is bool and type(value) is bool:
        return value
    if hint is int and type(value) is int:
        return value
    raise ValueError(f"{name} has the wrong type")
