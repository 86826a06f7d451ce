"""The reader of DPBench's histograms, on files that the tests make: arrays and texts, coarser domains, and bad files."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from dpbench.errors import UserError
from dpbench.sources import SOURCES

from support.formats import read

LINE = np.array([0, 3, 0, 7, 1, 0, 0, 2])
PLANE = np.arange(24).reshape(4, 6) % 5


def dense(data) -> np.ndarray:
    full = np.zeros(data.size, dtype=np.int64)
    full[data.cells] = data.counts
    return full.reshape(data.shape)


@pytest.mark.parametrize(
    "counts", [LINE, PLANE, np.asfortranarray(PLANE), PLANE.astype("<i4"), LINE.astype(float)], ids=str
)
def test_arrays_are_read_as_they_are(tmp_path: Path, counts: np.ndarray) -> None:
    np.save(tmp_path / "HEPTH.n8.npy", counts)
    data = read("dpcomp", tmp_path)
    assert data.shape == counts.shape
    np.testing.assert_array_equal(dense(data), counts)


def test_texts_and_gzip(tmp_path: Path) -> None:
    text = "".join(f"{count}\n" for count in LINE)
    (tmp_path / "INCOME.n8").write_text(text)
    np.testing.assert_array_equal(dense(read("dpcomp", tmp_path)), LINE)
    (tmp_path / "income.txt.gz").write_bytes(gzip.compress(text.encode()))
    np.testing.assert_array_equal(dense(read("dpcomp", tmp_path / "income.txt.gz")), LINE)
    buffer = io.BytesIO()
    np.save(buffer, PLANE)
    (tmp_path / "plane.npy.gz").write_bytes(gzip.compress(buffer.getvalue()))
    np.testing.assert_array_equal(dense(read("dpcomp", tmp_path / "plane.npy.gz")), PLANE)


def test_coarser_domains_are_sums_of_blocks(tmp_path: Path) -> None:
    np.save(tmp_path / "line.npy", LINE)
    np.save(tmp_path / "plane.npy", PLANE)
    np.testing.assert_array_equal(dense(read("dpcomp", tmp_path / "line.npy", shape="4")), [3, 7, 1, 2])
    expected = [[PLANE[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].sum() for j in range(3)] for i in range(2)]
    np.testing.assert_array_equal(dense(read("dpcomp", tmp_path / "plane.npy", shape="2x3")), expected)
    for shape in ("3", "4x6x1", "5x6"):
        with pytest.raises(UserError, match="does not divide the domain 4x6"):
            read("dpcomp", tmp_path / "plane.npy", shape=shape)


def test_bad_files_are_named_with_the_reason(tmp_path: Path) -> None:
    def message(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=name) as caught:
            read("dpcomp", tmp_path / name)
        return str(caught.value)

    def saved(values: np.ndarray) -> bytes:
        buffer = io.BytesIO()
        np.save(buffer, values, allow_pickle=True)
        return buffer.getvalue()

    assert "cell 1 holds -2" in message("a.npy", saved(np.array([1, -2])))
    assert "cell (0, 1) holds 0.5" in message("b.npy", saved(np.array([[1, 0.5]])))
    assert "cell 0 holds nan" in message("c.npy", saved(np.array([np.nan])))
    assert "it holds object" in message("d.npy", saved(np.array([{}, []], dtype=object)))
    assert "is not an array of counts" in message("e.npy", b"1\n2\n")
    assert "bytes follow the header" in message("f.npy", saved(LINE)[:-3])
    assert "not a single count" in message("g.npy", saved(np.zeros(0)))
    huge = saved(LINE).replace(b"(8,)", b"(9999999999,)").replace(b" " * 11 + b"\n", b"  \n")
    assert "is not an array of counts" in message("h.npy", huge)
    assert "line 2: expected a whole number as count, found 'x'" in message("i.txt", b"1\nx\n3\n")
    with pytest.raises(UserError, match="every line of a histogram is one cell"):
        SOURCES.make("dpcomp", path="a.npy", on_bad_line="skip")
    with pytest.raises(UserError, match="expected whole numbers like 1024 or 64x64"):
        SOURCES.make("dpcomp", path="a.npy", shape="64 by 64")
