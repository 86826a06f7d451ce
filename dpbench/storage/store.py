"""Finished trials on disk. Everything else is derived from them. Imported by the engine and by whatever reads results.

A Parquet file holds some consecutive trials of one setting. Its name holds their range and a checksum of the setting's
id, the range and the bytes; it never changes once it is renamed into place. Reading takes the union by trial number, so
that the history of a folder and the number of writers do not matter. The checksum finds accidents, not forgery.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpbench.errors import Failed
from dpbench.model.trial import TrialRow, TrialValue
from dpbench.storage import columns
from dpbench.storage.files import inside, read_whole, set_aside, write_atomic
from dpbench.storage.pages import are_plain_pages

NAME = re.compile(r"([0-9]{6,15})-([0-9]{6,15})\.([0-9a-f]{24})\.parquet")
MOST = 100_000  # trials in one file
MOST_CELLS = 16_000_000  # numbers in one file, trials times columns
# A file holds some twenty rows: compression and statistics would make it larger, and reading it four times as slow.
PLAIN = {"compression": "none", "use_dictionary": False, "write_statistics": False}
TRIAL, SECONDS = "trial", "seconds"
PAIR_COLUMNS = frozenset({"metric.pair_variance", "metric.pair_bias2"})
"""Columns that are null while the other trial of the pair has failed."""


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
        match = NAME.fullmatch(path.name)
        file = None if match is None else cls(path, int(match[1]), int(match[2]), match[3])
        return file if file is not None and 0 <= file.last - file.first < MOST else None

    def trials(self) -> range:
        return range(self.first, self.last + 1)


class Store:
    """The trials under one results folder."""

    def __init__(self, results: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.results = results
        self.root = results / "trials"
        self.say = say
        self._reported: set[Path] = set()

    def folder(self, setting: str) -> Path:
        return self.root / setting[:2] / setting

    def done(self, setting: str) -> set[int]:
        """The trials of a setting that are stored, every file checked against its checksum."""
        return {trial for file, _ in self.whole_files(setting) for trial in file.trials()}

    def named(self, setting: str) -> set[int]:
        """The trials according to the file names of a setting: fast, without opening any file."""
        files = (TrialFile.parse(path) for path in self._paths(setting))
        return {trial for file in files if file is not None for trial in file.trials()}

    def read(self, setting: str, trials: int | None = None) -> pa.Table | None:
        """The stored rows of a setting (of its first `trials` trials), in order of trial; None if there are none."""
        parts = []
        for file, content in self.whole_files(setting):
            if trials is None or file.first < trials:
                table = _table(file, content)
                if table is None:
                    self._set_aside(file.path)
                else:
                    parts.append((file, table))
        if not parts:
            return None
        count = sum(len(file.trials()) for file, _ in parts)
        whole = count == len({trial for file, _ in parts for trial in file.trials()})
        table = _joined([part for _, part in parts]) if whole else _union(parts)
        table = table.sort_by(TRIAL)
        if trials is not None:
            table = table.filter(pc.less(table[TRIAL], trials))
        return columns.settled(table, keep=PAIR_COLUMNS) if table.num_rows else None

    def write(self, setting: str, rows: Iterable[TrialRow], about: str) -> None:
        """Store rows: one file per run of consecutive trials. `about` describes the setting inside the file."""
        folder = inside(self.results, self.folder(setting))
        for stretch in _stretches(rows):
            table = columns.table(stretch)
            sink = pa.BufferOutputStream()
            pq.write_table(table.replace_schema_metadata({"dpbench.setting": about}), sink, **PLAIN)
            content = sink.getvalue().to_pybytes()
            first, last = int(stretch[0][TRIAL] or 0), int(stretch[-1][TRIAL] or 0)
            name = f"{first:06d}-{last:06d}.{_checksum(setting, first, last, content)}.parquet"
            try:
                write_atomic(folder / name, content)
            except FileNotFoundError:
                gone = "finished trials are gone with it; run it again"
                raise Failed(f"{folder} was removed or moved during the run: {gone}") from None
            except OSError as error:
                going_on = "trials already stored are kept, and the same command continues from there"
                raise Failed(f"trials cannot be stored in {folder} ({error.strerror}): {going_on}") from None

    def _paths(self, setting: str) -> list[Path]:
        """The content of a setting's folder. A folder that cannot be read is reported and treated as empty."""
        folder = self.folder(setting)
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self._report(folder, f"{folder} cannot be read ({error.strerror}): its trials count as missing")
            return []
        inside(self.results, folder)
        return [folder / name for name in names if not name.startswith(".")]

    def whole_files(self, setting: str) -> Iterator[tuple[TrialFile, bytes]]:
        """The files of a setting that hold what their names say, with their bytes. Others are reported and set aside."""
        for path in self._paths(setting):
            file, content = TrialFile.parse(path), b""
            try:
                if file is not None:
                    content = read_whole(path)
            except ValueError:  # a link, a pipe or an endless file: none of them is ours
                file = None
            except FileNotFoundError:
                continue
            except OSError as error:  # a temporary disk error must not cost good data
                self._report(path, f"{path} cannot be read ({error.strerror}): its trials count as missing")
                continue
            if file is None or _checksum(setting, file.first, file.last, content) != file.checksum:
                self._set_aside(path)
                continue
            yield file, content

    def _set_aside(self, path: Path) -> None:
        moved = set_aside(self.results, path)
        where = f"it is now {moved}" if moved else "it cannot be moved"
        self._report(path, f"{path} is damaged or foreign: {where}; its trials count as missing and are computed again")

    def _report(self, path: Path, text: str) -> None:
        """Warn once per file, although it is read several times in a run."""
        if path not in self._reported:
            self._reported.add(path)
            self.say(text)


def _table(file: TrialFile, content: bytes) -> pa.Table | None:
    """The rows of a file; None if the file is not a trial file, for example one from somebody else."""
    try:
        # Not `read_table`, which takes three times as long for a small file, mostly for thread overhead.
        opened = pq.ParquetFile(pa.BufferReader(content))
        if not columns.are_plain(opened.schema_arrow) or not _as_written(opened.metadata, content, len(file.trials())):
            return None
        table = opened.read(use_threads=False).replace_schema_metadata(None)
    except (pa.ArrowException, OSError):
        return None
    return table if table[TRIAL].to_pylist() == list(file.trials()) else None


def _as_written(footer: pq.FileMetaData, content: bytes, trials: int) -> bool:
    """Whether a file is hardly larger in memory than on disk. A malicious one may unpack a few bytes to many gigabytes.

    A column of numbers has eight bytes per trial, whatever its form. A word may be of any length, so all pages of such a column
    must hold the words as they are, each byte of them once.
    """
    if footer.num_rows != trials or footer.num_rows * footer.num_columns > MOST_CELLS:
        return False
    groups = (footer.row_group(number) for number in range(footer.num_row_groups))
    parts = [group.column(number) for group in groups for number in range(footer.num_columns)]
    return (
        sum(part.total_uncompressed_size for part in parts) <= len(content)
        and all(part.compression == "UNCOMPRESSED" and not part.has_dictionary_page for part in parts)
        and all(are_plain_pages(content, part) for part in parts if part.physical_type == "BYTE_ARRAY")
    )


def _checksum(setting: str, first: int, last: int, content: bytes) -> str:
    mark = hashlib.blake2b(f"{setting} {first} {last} ".encode(), digest_size=12)
    mark.update(content)
    return mark.hexdigest()


def _stretches(rows: Iterable[TrialRow]) -> Iterator[list[TrialRow]]:
    """Rows by trial, cut where a trial is missing."""
    rows = sorted(rows, key=lambda row: int(row[TRIAL] or 0))
    stretch: list[TrialRow] = []
    most = min(MOST, MOST_CELLS // max(1, len({name for row in rows for name in row})))
    for row in rows:
        if stretch and (row[TRIAL] != int(stretch[-1][TRIAL] or 0) + 1 or len(stretch) >= most):
            yield stretch
            stretch = []
        stretch.append(row)
    if stretch:
        yield stretch


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Tables of different trials as one; a column that is text in one of them becomes text in all."""
    words = {field.name for table in tables for field in table.schema if field.type == pa.string()}
    return pa.concat_tables([columns.as_words(table, words) for table in tables], promote_options="default")


def _union(parts: list[tuple[TrialFile, pa.Table]]) -> pa.Table:
    """The rows of files that share trials, each trial once.

    Two copies of a trial may differ in their time, and one may lack the values of a pair of trials because its partner had
    failed. Any other difference is an error.
    """
    rows: dict[int, dict[str, TrialValue]] = {}
    origin: dict[int, Path] = {}
    for file, table in parts:
        for row in table.to_pylist():
            trial = row[TRIAL]
            if trial not in rows:
                rows[trial], origin[trial] = row, file.path
                continue
            rows[trial] = _merged(rows[trial], row, origin[trial], file.path)
    return columns.table([rows[trial] for trial in sorted(rows)])


def _merged(
    row: dict[str, TrialValue], other: dict[str, TrialValue], first: Path, second: Path
) -> dict[str, TrialValue]:
    filled = dict(row)
    for name in sorted({*row, *other} - {SECONDS}):
        a, b = row.get(name), other.get(name)
        if name in PAIR_COLUMNS and (a is None or b is None):
            filled[name] = b if a is None else a
        elif not columns.same(a, b):
            raise Conflict(f"trial {row[TRIAL]} has {name} = {a} in {first} and {b} in {second}: remove one of them")
    return filled
