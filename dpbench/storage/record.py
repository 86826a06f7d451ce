"""The record: the reproduction as it was run once at paper size, kept as text beside the code.

Two files per experiment: EXPERIMENT.json (sealed) says how it was run, what it cost and which verdicts it gave;
EXPERIMENT.csv has the numbers of its figure. Written by `reproduce`; figures, claims and report read it if an experiment has
not been run.
"""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import TYPE_CHECKING

from dpbench.errors import UserError
from dpbench.model.record import Record
from dpbench.paths import RECORD
from dpbench.storage import seals
from dpbench.storage.files import read_whole, write_atomic
from dpbench.storage.seals import seal, text_digest

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 12
"""Significant digits of the numbers: two runs of the same code agree in nine."""
MISSING = "nan"
"""What a missing number is written as; an empty word stays an empty word."""
RELEASED = "released."
"""Begins the names of columns with words that a mechanism has released. Other noise releases other words: they name no row."""


def read_numbers(record: Record) -> pd.DataFrame:
    """The numbers of its figure, as its script gave them; long curves are thinned. UserError when damaged."""
    path = record.folder / f"{record.experiment}.csv"
    try:
        text = read_whole(path, links=True).decode()
    except (OSError, ValueError) as problem:
        raise _damaged(path, problem) from None
    if text_digest(text) != record.checksum:
        raise _damaged(path, "its checksum does not match")
    return _frame(text)


def write(record: Record, numbers: pd.DataFrame, folder: Path = RECORD) -> list[Path]:
    """Write both files, replacing existing ones."""
    text = _text(numbers)
    body = seals.plain(record) | {"checksum": text_digest(text)}
    files = [folder / f"{record.experiment}.{kind}" for kind in ("csv", "json")]
    for path, content in zip(files, (text, seal(body)), strict=True):
        write_atomic(path, content.encode())
    return files


def as_recorded(numbers: pd.DataFrame) -> pd.DataFrame:
    """The numbers of a script as a record returns them: a column of digits is read as numbers, whatever it was."""
    return _frame(_text(numbers))


def _text(numbers: pd.DataFrame) -> str:
    return numbers.to_csv(index=False, float_format=f"%.{DIGITS}g", lineterminator="\n", na_rep=MISSING)


def _frame(text: str) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[MISSING])


def names(folder: Path = RECORD) -> list[str]:
    """The experiments that are on record."""
    return [
        path.relative_to(folder).with_suffix("").as_posix()
        for path in sorted(folder.glob("**/*.json"))
        if path.is_file()
    ]


def read(experiment: str, folder: Path = RECORD) -> Record | None:
    """The record of an experiment; None when there is none. UserError when it is damaged.

    It may come from somebody else: it is checked as a run is, and nothing that it names is imported.
    """
    path = folder / f"{experiment}.json"
    if not path.is_file():
        return None
    try:
        record = seals.decode(Record, seals.checked(read_whole(path, links=True)), defaults=True)
        if record.experiment != experiment:
            raise ValueError("its name is not the one it was written under")
    except (OSError, ValueError) as problem:
        raise _damaged(path, problem) from None
    return dataclasses.replace(record, folder=folder)


def read_all(folder: Path = RECORD) -> dict[str, Record]:
    """Every record, by experiment."""
    records = {name: read(name, folder) for name in names(folder)}
    return {name: record for name, record in records.items() if record is not None}


def _damaged(path: Path, problem: object) -> UserError:
    return UserError(f"{path} is not what `reproduce --record` wrote ({problem}): restore it from version control")
