"""Finished trials on disk: the only truth there is. Imported by the runner and by whatever reads results.

A Parquet file holds some consecutive trials of one setting. Its name holds their range and a checksum of the setting's
id, of the range and of its bytes; it never changes once it is renamed into place. Reading is the union by trial number, so
that the history of a folder and the number of writers do not matter. The checksum finds accidents, not forgery.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpbench.errors import Failed
from dpbench.results.folder import set_aside, sweep, write_aside

Cell = float | int | str | None
Row = Mapping[str, Cell]
"""One trial: `trial`, `seconds`, and the columns `metric.*`, `chosen.*`, `diagnostic.*`."""

NAME = re.compile(r"(\d{6,})-(\d{6,})\.([0-9a-f]{24})\.parquet")


class Conflict(Failed):
    """Two files hold the same trial with different numbers."""


@dataclass(frozen=True)
class TrialFile:
    """A stored file by its name: the trials `first` to `last`, both included."""

    path: Path
    first: int
    last: int
    checksum: str

    @classmethod
    def parse(cls, path: Path) -> TrialFile | None:
        found = NAME.fullmatch(path.name)
        return None if found is None else cls(path, int(found[1]), int(found[2]), found[3])

    def trials(self) -> range:
        return range(self.first, self.last + 1)


class Store:
    """The trials under one results folder."""

    def __init__(self, results: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.results = results
        self.root = results / "trials"
        self.say = say

    def folder(self, setting: str) -> Path:
        return self.root / setting[:2] / setting

    def done(self, setting: str) -> set[int]:
        """The trials of a setting that are stored, every file held against its checksum."""
        return {trial for file, _ in self._whole_files(setting) for trial in file.trials()}

    def read(self, setting: str, trials: int | None = None) -> pa.Table | None:
        """The stored rows of a setting (of its first `trials` trials), in order of trial; None when there are none."""
        parts = []
        for file, content in self._whole_files(setting):
            if trials is None or file.first < trials:
                parts.append((file, pq.read_table(pa.BufferReader(content)).replace_schema_metadata(None)))
        if not parts:
            return None
        whole = sum(len(file.trials()) for file, _ in parts) == len({t for file, _ in parts for t in file.trials()})
        table = pa.concat_tables([part for _, part in parts], promote_options="default") if whole else _union(parts)
        table = table.sort_by("trial")
        if trials is not None:
            table = table.filter(pc.less(table["trial"], trials))
        return table if table.num_rows else None

    def write(self, setting: str, rows: Iterable[Row], about: str) -> None:
        """Store rows: one file per stretch of consecutive trials. `about` describes the setting inside the file."""
        for stretch in _stretches(rows):
            table = pa.Table.from_pylist(_spelled(stretch), schema=_schema(stretch))
            sink = pa.BufferOutputStream()
            pq.write_table(table.replace_schema_metadata({"dpbench.setting": about}), sink, compression="zstd")
            content = sink.getvalue().to_pybytes()
            first, last = int(stretch[0]["trial"] or 0), int(stretch[-1]["trial"] or 0)
            name = f"{first:06d}-{last:06d}.{_checksum(setting, first, last, content)}.parquet"
            write_aside(self.folder(setting) / name, content)

    def sweep(self, settings: Iterable[str]) -> None:
        """Remove what killed processes left aside in the folders of these settings."""
        for setting in settings:
            sweep(self.folder(setting))

    def _whole_files(self, setting: str) -> Iterator[tuple[TrialFile, bytes]]:
        """The files of a setting that hold what their names say, with their bytes. Others are named and set aside."""
        folder = self.folder(setting)
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        for path in paths:
            if path.name.startswith("."):
                continue
            file, content = TrialFile.parse(path), b""
            try:
                content = path.read_bytes() if file is not None and path.is_file() else b""
            except FileNotFoundError:
                continue
            except OSError as error:  # a passing fault of the disk must not cost good data
                self.say(f"{path} cannot be read ({error.strerror}): its trials are computed again")
                continue
            if file is None or _checksum(setting, file.first, file.last, content) != file.checksum:
                self._set_aside(path)
                continue
            yield file, content

    def _set_aside(self, path: Path) -> None:
        moved = set_aside(self.results, path)
        where = f"it is now {moved}" if moved else "it cannot be moved"
        self.say(f"{path} is damaged or foreign: {where}; its trials are computed again")


def _checksum(setting: str, first: int, last: int, content: bytes) -> str:
    mark = hashlib.blake2b(f"{setting} {first} {last} ".encode(), digest_size=12)
    mark.update(content)
    return mark.hexdigest()


def _stretches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows by trial, cut where a trial is missing."""
    stretch: list[Row] = []
    for row in sorted(rows, key=lambda row: int(row["trial"] or 0)):
        if stretch and row["trial"] != int(stretch[-1]["trial"] or 0) + 1:
            yield stretch
            stretch = []
        stretch.append(row)
    if stretch:
        yield stretch


def _schema(rows: Iterable[Row]) -> pa.Schema:
    """Every number but the trial is a double, so that files of one setting always fit together."""
    types: dict[str, pa.DataType] = {}
    for row in rows:
        for name, value in row.items():
            kind = pa.int64() if name == "trial" else pa.string() if isinstance(value, str) else pa.float64()
            if types.get(name) != pa.string():  # a word in one trial makes the column one of words
                types[name] = kind
    return pa.schema(types.items())


def _spelled(rows: Sequence[Row]) -> list[dict[str, Cell]]:
    """Numbers as words where another trial has a word."""
    schema = _schema(rows)
    words = {field.name for field in schema if field.type == pa.string()}
    return [{k: str(v) if k in words and v is not None else v for k, v in row.items()} for row in rows]


def _union(parts: list[tuple[TrialFile, pa.Table]]) -> pa.Table:
    """The rows of files that share trials, each trial once.

    Two copies of a trial may differ in their time, and one may lack what is measured over a pair of trials, because its
    partner had failed. Anything else is an error.
    """
    rows: dict[int, dict[str, Cell]] = {}
    origin: dict[int, Path] = {}
    for file, table in parts:
        for row in table.to_pylist():
            trial = row["trial"]
            if trial not in rows:
                rows[trial], origin[trial] = row, file.path
                continue
            rows[trial] = _merged(rows[trial], row, origin[trial], file.path)
    ordered = [rows[trial] for trial in sorted(rows)]
    return pa.Table.from_pylist(_spelled(ordered), schema=_schema(ordered))


def _merged(one: dict[str, Cell], other: dict[str, Cell], first: Path, second: Path) -> dict[str, Cell]:
    for name in {*one, *other} - {"seconds"}:
        a, b = one.get(name), other.get(name)
        if a is not None and b is not None and a != b and not (a != a and b != b):
            raise Conflict(f"trial {one['trial']} has {name} = {a} in {first} and {b} in {second}: remove one of them")
    return {**other, **{name: value for name, value in one.items() if value is not None}}
