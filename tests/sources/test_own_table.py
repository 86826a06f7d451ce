"""The reader of a user's own table: formats, columns, bad lines, and the cache."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpbench.data import Contingency, Incidence, Records
from dpbench.errors import UserError
from dpbench.model.setting import Dataset
from dpbench.sources.base import SkippedLines
from dpbench.sources.cache import open_dataset
from dpbench.sources.readers.own_table import Repeats, TableReader

FRAME = pd.DataFrame(
    {
        "who": ["ann", "bob", "ann", "eve"],
        "place": ["Café", "Inn", "Inn", 'Bar, "the"'],
        "day": ["mon", "tue", "mon", "wed"],
        "n": [1, 2, 3, 4],
    }
)
RNG = np.random.default_rng(0)


def put(path: Path) -> Path:
    form = path.name.removesuffix(".gz").rpartition(".")[2]
    plain = path.with_name(f"plain.{form}")
    if form == "parquet":
        FRAME.to_parquet(plain)
    else:
        FRAME.to_csv(plain, index=False, sep="\t" if form == "tsv" else ",")
    path.write_bytes(gzip.compress(plain.read_bytes()) if path.suffix == ".gz" else plain.read_bytes())
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.csv.gz", "a.tsv.gz", "a.parquet.gz"])
def test_formats(name: str, tmp_path: Path) -> None:
    path = str(put(tmp_path / name))
    data = TableReader(path=path, user="who", item="place").build(RNG)
    assert isinstance(data, Incidence)
    assert list(data.item_labels or ()) == ['Bar, "the"', "Café", "Inn"]
    assert (data.counts.tolist(), data.row_sizes.tolist()) == ([1, 1, 2], [2, 1, 1])
    records = TableReader(path=path, user="who", item="place", context="day").build(RNG)
    assert isinstance(records, Records)
    assert records.context_labels == ("mon", "tue", "wed")
    assert records.edges.tolist() == [[0, 0, 1], [1, 0, 0], [1, 1, 0]]
    table = TableReader(path=path, cell="place,day", count="n").build(RNG)
    assert isinstance(table, Contingency)
    assert (table.shape, table.total, table.subset([2 * 3])) == ((3, 3), 10, 3)


def test_numbers_as_cells(write: Callable[..., Path]) -> None:
    path = write("h.csv", "x,y,n\n0,1,5\n1,0,2\n0,1,1\n")
    data = TableReader(path=str(path), cell="x,y", count="n", shape="2x3").build(RNG)
    assert (data.cells.tolist(), data.counts.tolist(), data.shape) == ([1, 3], [6, 2], (2, 3))  # type: ignore[attr-defined]
    each = TableReader(path=str(path), cell="x", shape="2").build(RNG)
    assert each.counts.tolist() == [2, 1], "without a count every line is one"  # type: ignore[attr-defined]


def test_columns_by_number_and_several_files(write: Callable[..., Path]) -> None:
    path = write("many/a.csv", "u1,x\nu2,y\n")
    write("many/b.csv", "u1,z\n")
    data = TableReader(path=str(path.parent), user="1", item=2, header=False).build(RNG)  # type: ignore[arg-type]
    assert data.row_sizes.tolist() == [2, 1]  # type: ignore[attr-defined]


def test_files_that_store_words_and_numbers_differently(tmp_path: Path) -> None:
    """Plain and encoded words, short and long numbers, and a text file with a bad line are one table."""
    for name in ("words", "numbers", "both"):
        (tmp_path / name).mkdir()
    words = pd.DataFrame({"user": ["a", "b"], "item": ["x", "y"]})
    words.to_parquet(tmp_path / "words" / "a.parquet")
    words.astype("category").to_parquet(tmp_path / "words" / "b.parquet")
    words[:0].to_parquet(tmp_path / "words" / "c.parquet")
    (tmp_path / "words" / "d.csv").write_text("user,item\nb,z\n")
    (tmp_path / "words" / "e.csv").write_text("user,item\nc,x\nd,\n")
    with pytest.warns(SkippedLines), pytest.warns(Repeats, match="2 of 6 pairs"):
        data = TableReader(path=str(tmp_path / "words"), on_bad_line="skip").build(RNG)
    assert (list(data.item_labels), data.counts.tolist()) == (["x", "y", "z"], [2, 1, 1])  # type: ignore[attr-defined]
    numbers = pd.DataFrame({"user": [1, 2], "item": [10, 9]})
    numbers.to_parquet(tmp_path / "numbers" / "a.parquet")
    (numbers + 1).astype("int16").to_parquet(tmp_path / "numbers" / "b.parquet")
    (numbers + 2).astype("float64").to_parquet(tmp_path / "numbers" / "c.parquet")
    data = TableReader(path=str(tmp_path / "numbers")).build(RNG)
    assert list(data.item_labels) == ["9", "10", "11", "12"]  # type: ignore[attr-defined]
    words.to_parquet(tmp_path / "both" / "a.parquet")
    numbers.to_parquet(tmp_path / "both" / "b.parquet")
    with pytest.raises(UserError, match=r"both: the column 'user' holds .*string in a.parquet and int64 in b.parquet"):
        TableReader(path=str(tmp_path / "both")).build(RNG)


LINES = "user,item\na,1\n\nb,2\n"


@pytest.mark.parametrize(
    ("name", "text", "options", "told"),
    [
        ("a.csv", LINES + "c\n", {}, "a.csv, line 5: expected 2 fields, found 1"),
        ("a.csv", LINES + "c,\n", {}, "a.csv, line 5: item is empty"),
        ("a.csv", 'user,item\n"a\nb",1\nc,\n', {}, "a.csv, line 4: item is empty"),
        ("a.csv.gz", LINES + "c,1,2\n", {}, "line 5: expected 2 fields, found 3"),
        ("a.tsv", "user\titem\na\t1\nb\n", {}, "a.tsv, line 3: expected 2 fields, found 1"),
        ("a.csv", b"user,item\na,1\nb,\xff\xfe\n", {}, "line 3: item is not text in UTF-8"),
        ("a.csv", LINES, {"item": "itm"}, "has no column 'itm': did you mean 'item'?"),
        ("a.csv", "user,user\n1,2\n", {}, "has the column 'user' twice"),
        ("a.csv", "", {}, "has no column 'user': it is empty"),
        ("a.csv", LINES.replace(",", ";"), {}, "its columns seem to be separated by ';': expected commas in .csv"),
        ("a.xlsx", LINES, {}, "save the sheet as CSV"),
        ("a.csv", "user,item\n", {}, "there is not a single good line"),
        ("a.csv", b"PK\x03\x04zip", {}, "is a zip archive"),
        (
            "a.csv",
            "cell,n\n1,2\n2,x\n",
            {"cell": "cell", "count": "n"},
            "line 3: n is 'x': expected a whole number, 0 or more",
        ),
        ("a.csv", "cell,n\n1,2\n2,-1\n", {"cell": "cell", "count": "n"}, "line 3: n is '-1'"),
        (
            "a.csv",
            "cell\n1\n5\n",
            {"cell": "cell", "shape": "5"},
            "line 3: cell is '5': expected a whole number, from 0 to 4",
        ),
        ("a.xlsx", LINES, {}, "unknown ending '.xlsx'"),
        ("a.parquet", LINES, {}, "cannot be read as Parquet"),
    ],
)
def test_bad_files(name: str, text: str | bytes, options: dict, told: str, write: Callable[..., Path]) -> None:
    path = write(name, text)
    with pytest.raises(UserError) as error:
        TableReader(path=str(path), **options).build(RNG)
    assert told in str(error.value)


def test_bad_rows_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame({"user": [1, 2, None], "item": ["x", None, "y"]}).to_parquet(path)
    with pytest.raises(UserError, match=r"row 3: user is empty"):
        TableReader(path=str(path)).build(RNG)
    with pytest.warns(SkippedLines, match="2 bad lines were skipped"):
        assert TableReader(path=str(path), on_bad_line="skip").build(RNG).ones == 1  # type: ignore[attr-defined]


def test_bad_lines_are_left_out_where_asked(write: Callable[..., Path]) -> None:
    path = write("a.csv", LINES + "c\nd,\ne,1\n")
    with pytest.warns(SkippedLines, match=r"2 bad lines were skipped; the first: .*line 5"):
        data = TableReader(path=str(path), on_bad_line="skip").build(RNG)
    assert data.counts.tolist() == [2, 1]  # type: ignore[attr-defined]


def test_repeated_pairs_are_told(write: Callable[..., Path]) -> None:
    path = str(write("a.csv", LINES + "a,1\n"))
    with pytest.warns(Repeats, match="1 of 3 pairs are repeats and count once; kind=records keeps them"):
        TableReader(path=path).build(RNG)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TableReader(path=path, kind="records").build(RNG).records == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"cell": "x", "user": "u"}, "user=u has no effect on contingency data"),
        ({"count": "n"}, "count=n has no effect on incidence data"),
        ({"context": "c", "kind": "incidence"}, "context=c has no effect on incidence data"),
        ({"kind": "contingency"}, "a histogram needs `cell`"),
        ({"cell": "x", "shape": "3x"}, "shape='3x' is not valid"),
        ({"kind": "graph"}, "kind='graph' is not valid"),
        ({"header": "no"}, "header='no' is not valid"),
    ],
)
def test_wrong_options(options: dict, told: str) -> None:
    with pytest.raises(UserError) as error:
        TableReader(path="a.csv", **options)
    assert told in str(error.value)


def test_the_content_decides_the_cache(write: Callable[..., Path], own_cache: Path) -> None:
    path = write("a.csv", LINES)
    spec = Dataset("table", "table", {"path": str(path)})
    said: list[str] = []
    first = open_dataset(spec, say=said.append)
    assert first.data.item_labels == ("1", "2")  # type: ignore[attr-defined]
    path.touch()
    assert open_dataset(spec, say=said.append).fingerprint == first.fingerprint
    assert said == ["building table"]
    path.write_text(LINES + "c,3\n")
    second = open_dataset(spec, say=said.append)
    assert second.fingerprint != first.fingerprint
    assert said[-1] == "building table again: a.csv changed"
    renamed = write("b.csv", LINES.replace("1", "7"))
    other = open_dataset(Dataset("table", "table", {"path": str(renamed)}))
    assert other.fingerprint != first.fingerprint, "names of items are content"
