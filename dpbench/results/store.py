"""Finished trials on disk: one Parquet file a chunk, written whole and renamed. The only truth there is.

A file `00000-00020.parquet` holds every trial of its range; `….partial.parquet` lacks those that failed. Imported by the
runner and by whatever reads results.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


class Store:
    """The trials under one results folder."""

    def __init__(self, results: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.root = results / "trials"
        self.say = say

    def folder(self, cell: str) -> Path:
        return self.root / cell[:2] / cell

    def read(self, cell: str, trials: int | None = None) -> pa.Table | None:
        """All stored rows of a cell (of its first `trials` trials), in order of trial; None when there are none."""
        tables = [table for path in self._files(cell) if (table := self._read_file(path)) is not None]
        if not tables:
            return None
        table = pa.concat_tables(tables, promote_options="default").sort_by("trial")
        if trials is not None:
            table = table.filter(pc.less(table["trial"], trials))
        return table if table.num_rows else None

    def missing(self, cell: str, start: int, stop: int) -> list[int]:
        """The trials of a chunk still to be computed: none, those that failed, or all of them.

        A chunk that has grown since is computed anew as a whole: what is measured across a chunk's trials must not
        depend on the history of the store.
        """
        for path in self._files(cell):
            first, last = _range(path)
            if first <= start and stop <= last and (table := self._read_file(path)) is not None:
                done = set(table["trial"].to_pylist())
                return [trial for trial in range(start, stop) if trial not in done]
        return list(range(start, stop))

    def write(
        self,
        cell: str,
        start: int,
        stop: int,
        rows: list[dict[str, Any]],
        about: str,
        across: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Add rows to a chunk: written aside, then renamed. `about` describes the cell inside the file; `across` are
        numbers of the chunk as a whole, which all its rows get, those stored before too."""
        whole, partial = self._paths(cell, start, stop)
        before = self._read_file(partial) if partial.exists() else None
        schema = _schema(rows)
        words = [field.name for field in schema if field.type == pa.string()]
        rows = [{k: str(v) if k in words else v for k, v in row.items()} for row in rows]
        fresh = pa.Table.from_pylist(rows, schema=schema)
        table = fresh if before is None else pa.concat_tables([before, fresh], promote_options="default")
        for name, value in across.items():
            table = table.drop_columns([name]) if name in table.column_names else table
            table = table.append_column(name, pa.array(np.full(table.num_rows, value)))
        table = table.sort_by("trial").replace_schema_metadata({"dpbench.cell": about})
        path = whole if table.num_rows == stop - start else partial
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
        try:
            pq.write_table(table, aside, compression="zstd", write_page_checksum=True)
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)
        self._drop_overlapped(path, start, stop)

    def _paths(self, cell: str, start: int, stop: int) -> tuple[Path, Path]:
        stem = f"{start:05d}-{stop:05d}"
        return self.folder(cell) / f"{stem}.parquet", self.folder(cell) / f"{stem}.partial.parquet"

    def _files(self, cell: str) -> list[Path]:
        return sorted(self.folder(cell).glob("[0-9]*.parquet"))

    def _drop_overlapped(self, path: Path, start: int, stop: int) -> None:
        for other in path.parent.glob("[0-9]*.parquet"):
            first, last = _range(other)
            if other != path and start <= first and last <= stop:
                other.unlink(missing_ok=True)

    def _read_file(self, path: Path) -> pa.Table | None:
        try:
            return pq.ParquetFile(path, page_checksum_verification=True).read()
        except FileNotFoundError:
            return None
        except (OSError, pa.ArrowException) as error:
            # Left where it is: a passing fault of the disk must not cost good data, and a new file takes its place.
            self.say(f"{path} is damaged ({str(error).splitlines()[0]}): the next run computes its trials again")
            return None


def _schema(rows: Iterable[dict[str, Any]]) -> pa.Schema:
    """Every number but the trial is a double, so that files of one cell always fit together."""
    types: dict[str, pa.DataType] = {}
    for row in rows:
        for name, value in row.items():
            kind = pa.string() if isinstance(value, str) else pa.float64()
            if types.setdefault(name, pa.int64() if name == "trial" else kind) == pa.float64() and kind == pa.string():
                types[name] = kind  # a word in one trial makes the column one of words
    return pa.schema(types.items())


def _range(path: Path) -> tuple[int, int]:
    """The half-open range of trials that a file's name tells."""
    first, last = path.name.partition(".")[0].split("-")
    return int(first), int(last)
