"""What somebody could send: folders that hold code, sealed run files with any content, bombs. Used by tests/strangers and the
campaign."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpbench.storage import seals
from dpbench.storage.store import PLAIN, Store, _checksum

from support.stores import filled, name_of, rows, run

Body = dict[str, Any]

TOUCH = "import pathlib\npathlib.Path({marker!r}).touch()\n"
CLASS = "class Evil:\n    def release(self, *a): pass\n    score = build = release\n"
SHADOWS = ("numpy", "rich", "yaml", "hydra", "pandas")
"""Modules that every command, or almost every one, imports."""


def trap(folder: Path, marker: Path, experiment: str = "a") -> None:
    """Fill a folder with everything that could be run from it: configuration, scripts, modules and plugins."""
    code = TOUCH.format(marker=str(marker))
    files = {
        "evil.py": code + CLASS,
        f"experiments/{experiment}.py": code,
        "hydra_plugins/evil_plugin.py": code,
        "conf/mechanism/evil.yaml": "evil: {class: evil.Evil, strength: 3}\n",
        "conf/task/evil.yaml": "evil: {class: evil.Evil}\n",
        "conf/dataset/evil.yaml": "evil: {kind: incidence, source: generator, generator: evil.Evil}\n",
        "evil-1.0.dist-info/entry_points.txt": "[dpbench.mechanisms]\nworse = evil:Evil\n",
        "evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
        "matplotlibrc": "backend: module://evil\n",
        ".numba_config.yaml": "cache_dir: numba\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def shadow(folder: Path, marker: Path) -> None:
    """Files with the names of installed modules."""
    for name in SHADOWS:
        (folder / f"{name}.py").write_text(TOUCH.format(marker=str(marker)))


def forged(results: Path, change: Callable[[Body], object], name: str = "gs/fig9", settings: int = 2) -> Path:
    """A run with stored trials, its file changed and sealed again, as its author could."""
    made = run(results, settings, repetitions=4, name=name)
    path = made.save()
    body = seals.unseal(path.read_bytes())
    change(body)
    path.write_text(seals.seal(body))
    store = Store(results)
    for number in range(settings):
        store.write(name_of(number), rows(range(4), number), "{}")
    return path


def put(results: Path, setting: str, first: int, last: int, content: bytes) -> Path:
    """A trial file with the right name for this content, as anybody can make one."""
    name = f"{first:06d}-{last:06d}.{_checksum(setting, first, last, content)}.parquet"
    path = Store(results).folder(setting) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def repeated_words(trials: int = 2000, letters: int = 1_000_000) -> bytes:
    """A Parquet file of a megabyte that holds one long word in every trial: each is stored as the same beginning as the last one.
    Its footer says that the words are stored as they are."""
    table = pa.table(
        {
            "trial": pa.array(range(trials), pa.int64()),
            "seconds": pa.array([0.1] * trials),
            "metric.mae": pa.array([0.1] * trials),
            "chosen.word": pa.array(["x" * letters] * trials),
        }
    )
    sink = pa.BufferOutputStream()
    encodings = {"chosen.word": "DELTA_BYTE_ARRAY", "trial": "PLAIN", "seconds": "PLAIN", "metric.mae": "PLAIN"}
    pq.write_table(
        table, sink, **(PLAIN | {"use_dictionary": False}), column_encoding=encodings, data_page_size=1 << 40
    )
    return _as_if_plain(sink.getvalue().to_pybytes())


def _as_if_plain(content: bytes) -> bytes:
    """The same with a footer that lists plain encoding where it lists that of repeated beginnings."""
    length = int.from_bytes(content[-8:-4], "little")
    body, footer, end = content[: -8 - length], content[-8 - length : -8], content[-8:]
    before, after = bytes([6, 14]), bytes([6, 0])  # RLE and DELTA_BYTE_ARRAY, RLE and PLAIN, as Thrift writes them
    if before not in footer:
        before, after = bytes([14, 6]), bytes([0, 6])
    return body + footer.replace(before, after, 1) + end


__all__ = ["Body", "filled", "forged", "put", "repeated_words", "shadow", "trap"]
