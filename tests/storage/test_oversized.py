"""A results folder from somebody else does not fill the memory of its reader, and does not make it wait."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpbench.auditing.cache import audit_file, stored
from dpbench.errors import Damaged
from dpbench.storage import store as stores
from dpbench.storage.files import LARGEST, write_atomic
from dpbench.storage.store import Store, _checksum

from support.paths import ROOT
from support.stores import name_of, rows, run

ID = name_of(0)
LITTLE = 2 << 30  # bytes of address space: enough for the verb, too little for a bomb


def put(store: Store, first: int, last: int, content: bytes) -> Path:
    """A file with the right name for this content, as anybody can make one."""
    path = store.folder(ID) / f"{first:06d}-{last:06d}.{_checksum(ID, first, last, content)}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def parquet(table: pa.Table, times: int = 1, **form: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, store_schema=False, **form) as writer:
        for _ in range(times):
            writer.write_table(table)
    return sink.getvalue().to_pybytes()


def many_rows() -> tuple[int, int, bytes]:
    """A billion bytes of rows in a file that promises two trials."""
    zeros = pa.table({"trial": np.zeros(10**6, np.int64), "seconds": np.zeros(10**6)})
    return 0, 1, parquet(zeros, 60, compression="zstd")


def long_words() -> tuple[int, int, bytes]:
    """One word of four million letters, said a thousand times."""
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, np.int32)), pa.array(["x" * (4 << 20)]))
    table = pa.table({"trial": np.arange(1000), "seconds": np.zeros(1000), "diagnostic.word": words})
    return 0, 999, parquet(table, compression="zstd")


def many_columns() -> tuple[int, int, bytes]:
    """A thousand columns of nothing, in 100,000 trials."""
    empty = pa.nulls(100_000, pa.float64())
    table = pa.table({"trial": np.arange(100_000), **{f"metric.m{i}": empty for i in range(1000)}})
    return 0, 99_999, parquet(table, **stores.PLAIN)


@pytest.mark.parametrize("bomb", [many_rows, long_words, many_columns])
def test_a_small_file_that_unpacks_to_much_is_set_aside(tmp_path: Path, bomb: Any) -> None:
    told: list[str] = []
    store = Store(tmp_path, told.append)
    path = put(store, *bomb())
    assert path.stat().st_size < 10 << 20
    before = pa.total_allocated_bytes()
    assert store.read(ID) is None
    assert pa.total_allocated_bytes() - before < 64 << 20
    assert len(told) == 1
    assert not path.exists()


def test_what_is_written_is_never_too_large_to_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More numbers than one file may hold become several files."""
    monkeypatch.setattr(stores, "MOST_CELLS", 100)
    store = Store(tmp_path)
    store.write(ID, rows(range(50)), "{}")
    assert len([*store.folder(ID).iterdir()]) > 1
    found = store.read(ID)
    assert found is not None
    assert found["trial"].to_pylist() == [*range(50)]
    with pytest.raises(Exception, match="expected at most"):
        write_atomic(tmp_path / "large", bytes(LARGEST + 1))


def _little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LITTLE, LITTLE))


def test_files_without_end_are_passed_over(tmp_path: Path) -> None:
    """On the command line: a file of a terabyte that takes no place on the disk, and pipes, as trials and runs."""
    results = tmp_path / "results"
    made = run(results, 1, repetitions=4)
    made.save()
    store = Store(results)
    store.write(ID, rows(range(4)), "{}")
    endless = [store.folder(ID) / f"000900-000901.{'a' * 24}.parquet", made.path.with_name("fig8@smoke.json")]
    for path in endless:
        with path.open("wb") as file:
            file.truncate(1 << 40)
    pipe = made.path.with_name("fig7@smoke.json")
    os.mkfifo(pipe)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "dpbench", "figures", "gs/fig9"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=_little_memory,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    assert "fig8@smoke.json is damaged" in done.stderr
    assert not any(path.exists() for path in (*endless, pipe))


def test_an_audit_that_is_a_pipe_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(audit_file(tmp_path))
    with pytest.warns(Damaged, match="is not a file"):
        assert stored(tmp_path) == []
