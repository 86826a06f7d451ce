"""Bad input: an error that names the file and the line and says what was expected, or lines skipped and counted."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpbench.config.dataset_entry import DatasetEntry
from dpbench.config.entries import dataset_of
from dpbench.errors import UserError
from dpbench.model.setting import Dataset
from dpbench.sources import SOURCES, SkippedLines
from dpbench.sources.cache import open_dataset

from support.formats import ADULT, CHECKINS, DOCWORD, GOOD, LODES, NETFLIX, RATINGS, TSMC, read, rows_of

# reader, file, line of the fault, what the message says
BAD = [
    ("snap_checkins", CHECKINS.replace("\t5\n", "\tfive\n"), 3, "expected a whole number as location, found 'five'"),
    ("snap_checkins", CHECKINS.replace("\t5\n", "\n"), 3, "expected 5 fields (user TAB time TAB latitude TAB"),
    ("snap_checkins", CHECKINS.replace("\t5\n", "\t5\t5\n"), 3, "found 6"),
    (
        "snap_checkins",
        CHECKINS.replace("\t5\n", "\t-5\n"),
        3,
        "location '-5' is out of range: expected 0 to 2147483646",
    ),
    ("snap_checkins", CHECKINS.replace("\t5\n", "\t99999999999999999999\n"), 3, "is out of range"),
    ("snap_checkins", CHECKINS.replace("\t5\n", "\t5x\n"), 3, "expected a whole number as location, found '5x'"),
    (
        "snap_checkins",
        CHECKINS.replace("2012-02-29", "2011-02-29"),
        4,
        "expected a time like 2010-10-19T15:55:27Z as time",
    ),
    ("snap_checkins", CHECKINS.replace("30.2359091167", "north"), 1, "expected a number as latitude, found 'north'"),
    ("snap_checkins", CHECKINS[:-30], 4, "line 4"),
    (
        "tsmc2014",
        TSMC.replace("-240", "-24000", 1),
        1,
        "offset in minutes '-24000' is out of range: expected -900 to 900",
    ),
    (
        "tsmc2014",
        TSMC.replace("Dec 15", "Dez 15"),
        3,
        "expected a time like Sat Dec 15 00:13:02 +0000 2012 as UTC time",
    ),
    ("tsmc2014", TSMC.replace("4a43c0aef964a520c6a61fe3", ""), 2, "expected a text as venue, found ''"),
    ("netflix_prize", RATINGS.replace(",4,", ",6,", 1), 2, "rating '6' is out of range: expected 1 to 5"),
    ("netflix_prize", NETFLIX[1], 1, "expected a line `movie:` before the first rating"),
    ("netflix_prize", RATINGS + "x:\n", 4, "expected a whole number as movie, found 'x'"),
    ("netflix_prize", RATINGS + "-5:\n", 4, "movie '-5' is out of range: expected 1 to 2147483646"),
    ("netflix_prize", RATINGS + "2:x\n", 4, "expected a whole number as movie, found '2:x'"),
    ("netflix_prize", RATINGS + "5\n", 4, "expected 3 fields (user,rating,date), found 1: '5'"),
    ("netflix_prize", RATINGS + "5,4,2005-13-26\n", 4, "expected a date like 2005-09-06 as date, found '2005-13-26'"),
    ("netflix_prize", RATINGS + "30878,1,2005-12-27\n", 4, "user 30878 has movie 1 a second time"),
    ("uci_bag_of_words", DOCWORD.replace("3 1 2", "5 1 2"), 6, "document '5' is out of range: expected 1 to 4"),
    ("uci_bag_of_words", DOCWORD.replace("3 1 2", "3 7 2"), 6, "word '7' is out of range: expected 1 to 6"),
    ("uci_bag_of_words", DOCWORD.replace("3 1 2", "3 0 2"), 6, "word '0' is out of range"),
    ("uci_bag_of_words", DOCWORD.replace("3 1 2", "3 1"), 6, "expected 3 fields (document word count), found 2"),
    ("uci_bag_of_words", DOCWORD.replace("3 1 2", "1 6 2"), 6, "document 1 has word 6 a second time"),
    ("uci_bag_of_words", DOCWORD.replace("3 1 2\n", ""), 6, "the file ends after 2 pairs: expected 3, as line 3 says"),
    ("uci_bag_of_words", "four\n" + DOCWORD, 1, "expected the number of documents, 1 to 268435456, found 'four'"),
    (
        "uci_bag_of_words",
        "0" * 19 + "1" * 5000 + "\n",
        1,
        "expected the number of documents, 1 to 268435456, found '000",
    ),
    ("uci_bag_of_words", "4\n2147483646\n1\n1 1 1\n", 2, "expected the number of words, 1 to 268435456, found '214"),
    ("uci_bag_of_words", "4\n6\n", 3, "the file ends here"),
    ("fimi", "1 2\n3 x 4\n", 2, "expected whole numbers (items) separated by spaces, found 'x'"),
    ("fimi", "1 2\n3 -4\n", 2, "item '-4' is out of range"),
    ("fimi", "1 2\n" + "3" * 5000 + "\n", 2, "item '333"),
    ("fimi", "1 2\n3\r4 5\r\n", 2, "expected whole numbers (items) separated by spaces, found '3\\r4 5'"),
    ("node_lines", "1 2\n\n3,4\n", 3, "expected whole numbers (nodes) separated by spaces, found '3,4'"),
    ("uci_adult", ADULT + ADULT.replace("State-gov", "Stategov"), 2, "workclass 'Stategov' is none of: Private, "),
    ("uci_adult", ADULT + ADULT.replace(", Male", ""), 2, "expected 15 fields (age,workclass,"),
    ("uci_adult", ADULT.replace("39", "old"), 1, "expected a whole number as age, found 'old'"),
    ("lodes_od", LODES.replace("S000", "jobs"), 1, "expected a header with the column S000"),
    ("lodes_od", LODES.replace(",3,1,", ",3.5,1,"), 2, "expected a whole number as S000, found '3.5'"),
    ("lodes_od", LODES + "11001,110010002011001,3,1,2\n", 3, "w_geocode '11001' has 5 digits: expected 15"),
    (
        "lodes_od",
        LODES + "110010001011000,10010201001000,3,1,2\n",
        3,
        "h_geocode '10010201001000' has 14 digits: expected 15; a leading zero was probably lost",
    ),
    ("lodes_od", LODES + "1100100010110,110010002011001,3,1,2\n", 3, "'1100100010110' has 13 digits: expected 15"),
    ("lodes_od", LODES + "1100100010110000,110010002011001,3,1,2\n", 3, "has 16 digits: expected 15"),
    ("lodes_od", LODES + "000000000000001,110010002011001,3,1,2\n", 3, "'000000000000001' is out of range"),
    ("lodes_od", LODES + "11001000101100x,110010002011001,3,1,2\n", 3, "expected a whole number as w_geocode"),
]


def failing(reader: str, path: Path, **parameters: object) -> str:
    with pytest.raises(UserError) as caught:
        read(reader, path, **parameters)
    return str(caught.value)


@pytest.mark.parametrize("case", BAD, ids=lambda case: f"{case[0]} {case[3][:30]}")
def test_the_line_is_named(write: Callable[..., Path], case: tuple[str, str, int, str]) -> None:
    reader, text, line, says = case
    path = write("file.txt", text.encode("latin-1"))
    message = failing(reader, path)
    assert message.startswith(f"{path}, line {line}: ")
    assert says in message


@pytest.mark.parametrize("reader", GOOD)
def test_no_lines(write: Callable[..., Path], reader: str) -> None:
    path = write("file.txt", "")
    assert failing(reader, path).startswith(f"{path}, line 1: the file is empty: expected ")
    assert "expected" in failing(reader, write("blank.txt", "\n \r\n\n"))


@pytest.mark.parametrize("reader", GOOD)
def test_no_files(write: Callable[..., Path], tmp_path: Path, reader: str) -> None:
    cls = SOURCES.get(reader)
    message = failing(reader, tmp_path / "nowhere")
    assert message == f"{tmp_path / 'nowhere'}: there is no such file or folder: expected {cls.what}"
    (tmp_path / "folder").mkdir()
    write("folder/picture.png", b"\x89PNG")
    message = failing(reader, tmp_path / "folder")
    assert message.startswith(f"{tmp_path / 'folder'}: expected {cls.what}, named {cls.names[0]}")
    assert "there is picture.png" in message


def test_places_that_are_no_files(write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert "loop: there is no such file or folder" in failing("fimi", tmp_path / "loop")
    entry = {"kind": "incidence", "source": "files", "files": "fimi", "path": str(tmp_path / "loop")}
    with pytest.raises(UserError, match=r"transactions.path=.*loop: there is no such file or folder"):
        dataset_of(DatasetEntry.of("transactions", entry), "smoke")
    with pytest.raises(UserError, match=r"transactions.path=\['a', 'b'\] is not valid: expected one file or folder"):
        DatasetEntry.of("transactions", entry | {"path": ["a", "b"]})
    os.mkfifo(tmp_path / "pipe.dat")
    assert "pipe.dat is neither a file nor a folder: expected transactions" in failing("fimi", tmp_path / "pipe.dat")
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    write("deep/deeper/retail.dat", "1\n")
    (tmp_path / "retail.dat").mkdir()
    message = failing("fimi", tmp_path)
    assert message.endswith("there is deep/, loop (not a file), pipe.dat (not a file), retail.dat/")
    assert rows_of(read("fimi", tmp_path / "deep")) == [(0,)]  # a folder inside is looked into
    assert "~nobody-of-that-name/x: there is no such" in failing("fimi", Path("~nobody-of-that-name/x"))


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: object) -> list[str]:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("os.listdir", refuse)  # who runs the tests may be allowed everything
    assert (
        failing("fimi", tmp_path)
        == f"{tmp_path}: cannot be read: Permission denied: expected transactions, one per line"
    )


def test_two_files_where_one_is_expected(write: Callable[..., Path]) -> None:
    write("retail.dat", "1\n")
    message = failing("fimi", write("kosarak.dat", "1\n").parent)
    assert "2 files could be transactions, one per line: give the path of one of kosarak.dat, retail.dat" in message


def test_lodes_of_two_years(write: Callable[..., Path]) -> None:
    write("dc_od_main_JT00_2022.csv", LODES)
    message = failing("lodes_od", write("dc_od_main_JT00_2023.csv", LODES).parent)
    assert "count the same people: expected files of one job type and year" in message


@pytest.mark.parametrize(
    "copy",
    [
        "dc_od_main_JT00_2023_copy.csv",
        "dc_od_main_JT00_2023 (1).csv.gz",
        "copy_of_dc_od_main_JT00_2023.csv",
        "DC_OD_main_JT00_2023.csv",
    ],
)
def test_lodes_with_a_copy(write: Callable[..., Path], copy: str) -> None:
    """It would double every count; alone, a file may be called anything."""
    write("al_od_main_JT00_2023.csv", LODES)
    write("dc_od_aux_JT00_2023.csv", LODES)
    folder = write("dc_od_main_JT00_2023.csv", LODES).parent
    assert read("lodes_od", folder).total == 9
    message = failing("lodes_od", write(copy, LODES).parent)
    assert message.startswith(f"{folder}: ")
    assert copy in message
    assert "dc_od_main_JT00_2023.csv" in message.replace(copy, "")
    assert "expected" in message
    assert read("lodes_od", folder / copy).total == 3


@pytest.mark.parametrize("reader", GOOD)
def test_gzip_cut_off_or_damaged(write: Callable[..., Path], reader: str) -> None:
    packed = gzip.compress(GOOD[reader].encode("latin-1") * (1 if reader != "fimi" else 50))
    path = write("file.txt", packed[:-9])
    assert failing(reader, path).startswith(f"{path}, after line ")
    assert "the gzip file is truncated" in failing(reader, path)
    broken = packed[:-6] + b"\0\0" + packed[-4:]
    assert "the gzip file is damaged" in failing(reader, write("broken.txt", broken))


@pytest.mark.parametrize("block", [1 << 22, 1 << 12])
def test_the_line_of_the_cut(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Lines that could be unpacked before the cut count, whatever block of the file it lies in."""
    monkeypatch.setattr("dpbench.sources.readers.parsing.BLOCK", block)
    text = "".join(f"{(7 * i) ** 2 % 100_003} {i}\n" for i in range(20_000)).encode()
    packed = gzip.compress(text)[:60_000]
    whole = zlib.decompressobj(wbits=31).decompress(packed).count(b"\n")
    assert whole > 5_000
    path = write("file.txt", packed)
    assert failing("fimi", path) == f"{path}, after line {whole}: the gzip file is truncated"
    damaged = gzip.compress(text[:2_000])[:-8] + bytes(8)
    path = write("damaged.txt", damaged)
    assert failing("fimi", path).startswith(f"{path}, after line {text[:2_000].count(10)}: the gzip file is damaged")


@pytest.mark.parametrize("reader", GOOD)
def test_other_kinds_of_files_are_called_by_their_name(write: Callable[..., Path], reader: str) -> None:
    """Also where bad lines are skipped: there is no line to keep."""
    text = GOOD[reader]
    others = {
        "text in UTF-16": text.encode("utf-16"),
        "a zip archive": b"PK\x03\x04" + bytes(100),
        "compressed by bzip2": bz2.compress(text.encode()),
        "compressed by xz": lzma.compress(text.encode()),
        "compressed twice by gzip": gzip.compress(gzip.compress(text.encode())),
        "text with carriage returns and no newlines": (2 * text).replace("\n", "\r").encode(),
    }
    for what, content in others.items():
        path = write("file.txt", content)
        for mode in ("error", "skip"):
            message = failing(reader, path, on_bad_line=mode)
            assert message.startswith(f"{path}, line 1: the file is {what}: expected plain or gzipped lines, ")


def test_nothing_good_names_the_first_bad_line(write: Callable[..., Path]) -> None:
    for reader in set(GOOD) - {"lodes_od", "uci_bag_of_words"}:
        path = write("file.txt", "<html>\n</html>\n")
        message = failing(reader, path, on_bad_line="skip")
        assert re.search(rf"not a single .*expected .*; the first bad line: {path}, line 1: expected ", message), (
            message
        )


def test_a_comment_alone_is_no_data(write: Callable[..., Path]) -> None:
    path = write("adult.test", "|1x3 Cross validator\n")
    assert failing("uci_adult", path) == f"{path}: there is not a single good line: expected UCI Adult"


def test_hidden_files_are_no_data(write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write("._retail.dat", b"\0\5\x16\7")
    path = write("retail.dat", "1 2\n")
    assert rows_of(read("fimi", path.parent)) == [(0, 1)]


def test_not_a_text_file(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpbench.sources.readers.parsing.LONGEST_LINE", 1000)
    monkeypatch.setattr("dpbench.sources.readers.parsing.BLOCK", 100)
    path = write("file.txt", b"1 2\n" + b"7" * 2000)
    assert failing("fimi", path).startswith(f"{path}, line 2: longer than ")


def test_wrong_parameters(write: Callable[..., Path]) -> None:
    path = write("retail.dat", "1\n")
    assert "on_bad_line='ignore' is not valid" in failing("fimi", path, on_bad_line="ignore")
    assert "ids='none' is not valid" in failing("fimi", path, ids="none")
    large = write("large.dat", "7 2000000000\n")
    assert "ids='all' is not valid: the largest id is 2000000000, expected less than" in failing(
        "fimi", large, ids="all"
    )
    assert read("fimi", large).columns == 2
    assert "kind='catalogue' is not valid" in failing("snap_checkins", path, kind="catalogue")
    assert "digits=16 is not valid" in failing("lodes_od", path, digits=16)


@pytest.mark.parametrize(
    "case", [c for c in BAD if c[0] != "lodes_od" or c[2] > 1], ids=lambda c: f"{c[0]} {c[3][:30]}"
)
def test_skipped_lines_are_counted(write: Callable[..., Path], case: tuple[str, str, int, str]) -> None:
    """Without the bad lines the rest reads as if they had never been there."""
    reader, text, line, says = case
    lines = text.split("\n")
    rest = "\n".join(lines[: line - 1] + lines[line:])
    path = write("file.txt", text.encode("latin-1"))
    if reader == "uci_bag_of_words" and (line <= 3 or "ends after" in says):
        assert f"line {line}" in failing(reader, path, on_bad_line="skip")  # its head cannot be skipped
        return
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data = read(reader, path, on_bad_line="skip")
    except UserError as error:
        assert "not a single good line" in str(error)  # noqa: PT017
        return
    messages = [str(w.message) for w in caught if w.category is SkippedLines]
    number = 2 if says.startswith("expected a line `movie:`") else 1
    assert len(messages) == 1
    assert messages[0].startswith(f"{number} bad line")
    assert f"line {line}: " in messages[0]
    if reader == "uci_bag_of_words":
        rest = rest.replace("\n3\n", "\n2\n", 1)
    other = read(reader, write("rest.txt", rest.encode("latin-1")))
    assert data.statistics() == other.statistics()
    for name in ("indices", "items", "cells"):
        if hasattr(data, name):
            assert np.array_equal(getattr(data, name), getattr(other, name))


@pytest.mark.parametrize("block", [1 << 22, 20, 4])
@pytest.mark.parametrize("heading", ["2x:", "abc:", "99999999999999:", ":", "-2:", "2:x", "2 2: "])
def test_a_bad_heading_takes_its_ratings_with_it(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, heading: str, block: int
) -> None:
    """They are nobody's: neither those of the movie above nor of any other."""
    monkeypatch.setattr("dpbench.sources.readers.parsing.BLOCK", block)
    lost = "".join(f"{user},3,2005-12-26\n" for user in (5, 6, 7))
    path = write("file.txt", f"1:\n5,3,2005-12-26\n{heading}\n{lost}8,x,2005-12-26\n3:\n6,3,2005-12-26\n")
    with pytest.warns(SkippedLines, match=f"^5 bad lines were skipped; the first: {path}, line 3: ") as caught:
        data = read("netflix_prize", path, on_bad_line="skip")
    assert rows_of(data) == [(0,), (1,)]
    assert "movie" in str(caught[0].message)


def test_a_bad_rating_is_no_heading(write: Callable[..., Path]) -> None:
    for line in ("5:,3,2005-12-26", "x,3,2005-12-26:", "5,3,2005-12-26:"):
        path = write("file.txt", f"1:\n{line}\n6,3,2005-12-26\n")
        with pytest.warns(SkippedLines, match="^1 bad line was skipped"):
            assert rows_of(read("netflix_prize", path, on_bad_line="skip")) == [(0,)]


@pytest.mark.parametrize("block", [1 << 22, 4])
def test_a_cut_bag_of_words_is_an_error_whatever_is_skipped(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    """A skipped line stands for one pair, not for all that are missing."""
    monkeypatch.setattr("dpbench.sources.readers.parsing.BLOCK", block)
    path = write("file.txt", "4\n6\n5\n1 2 1\n1 x 9\n3 1 2\n")
    message = failing("uci_bag_of_words", path, on_bad_line="skip")
    assert message == f"{path}, line 7: the file ends after 2 pairs and 1 bad line: expected 5, as line 3 says"
    assert "after 2 pairs and 1 bad" in failing(
        "uci_bag_of_words", write("more.txt", "4\n6\n1\n1 2 1\n1 x 9\n3 1 2\n"), on_bad_line="skip"
    )
    for total in (2, 3):  # the bad line is one of the pairs, or it was never counted
        path = write("file.txt", f"4\n6\n{total}\n1 2 1\n1 x 9\n3 1 2\n")
        with pytest.warns(SkippedLines, match="^1 bad line was skipped"):
            assert rows_of(read("uci_bag_of_words", path, on_bad_line="skip"))[:3] == [(1,), (), (0,)]


def test_nothing_is_cached_from_a_failed_read(write: Callable[..., Path], own_cache: Path) -> None:
    path = write("retail.dat", "1 2\nx\n")
    with pytest.raises(UserError, match="line 2"):
        open_dataset(Dataset("transactions", "fimi", {"path": str(path)}))
    assert not [*own_cache.glob("data/*")]
    write("retail.dat", "1 2\n5\n")
    assert open_dataset(Dataset("transactions", "fimi", {"path": str(path)})).data.rows == 2


def test_skipped_lines_are_told_again_from_the_cache(write: Callable[..., Path]) -> None:
    """Later users of the built data are told what is missing from it; good files give no message."""
    path = write("retail.dat", "1 2\nx\n3\ny\n")
    spec = Dataset("transactions", "fimi", {"path": str(path), "on_bad_line": "skip"})
    told = f"2 bad lines were skipped; the first: {path}, line 2: "
    with pytest.warns(SkippedLines) as first:
        fingerprint = open_dataset(spec).fingerprint
    with pytest.warns(SkippedLines) as second:
        assert open_dataset(spec).fingerprint == fingerprint
    for caught in (first, second):
        assert [str(w.message).startswith(told) for w in caught] == [True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_dataset(spec, tell=False)  # a worker, whose parent told it
        path.write_text("1 2\n3\n")
        # What is told is no part of the data: the same rows from a good file have the same fingerprint.
        assert open_dataset(spec).fingerprint == fingerprint
        assert open_dataset(spec).fingerprint == fingerprint
