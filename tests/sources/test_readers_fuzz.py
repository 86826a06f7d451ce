"""Fuzzed files: an error of ours or a right answer, never somebody else's traceback."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpbench.errors import UserError
from dpbench.sources import SkippedLines

from naive import readers as naive
from support.formats import CHECKINS, GOOD, TSMC, read, records_of, rows_of

FUZZ = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)


def mutated(good: str) -> st.SearchStrategy[bytes]:
    """The good file with some bytes put in, taken out or changed, or cut off."""
    content = good.encode("latin-1")
    place = st.integers(0, len(content))
    piece = st.one_of(
        st.binary(max_size=3),
        st.sampled_from([b"\t", b"\n", b":", b",", b" ", b"-", b"0", b"9" * 12, b"\r\n", b"\0", b"1e5"]),
    )
    edit = st.tuples(place, st.integers(0, 4), piece)

    def apply(edits: list[tuple[int, int, bytes]]) -> bytes:
        text = content
        for at, out, put in edits:
            text = text[:at] + put + text[at + out :]
        return text

    return st.lists(edit, max_size=3).map(apply).filter(lambda text: not text.startswith(b"\x1f\x8b"))


def outcome(reader: str, path: Path, **parameters: object):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedLines)
            return read(reader, path, **parameters)
    except UserError as error:
        assert str(path) in str(error)  # noqa: PT017
        return None


@FUZZ
@given(content=mutated(CHECKINS))
def test_fuzzed_snap(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fuzz.txt"
    path.write_bytes(content)
    lines = [line for line in naive.text_lines(path) if line]
    triples = [naive.snap(line) for line in lines]
    good = [t for t in triples if t is not None]
    data = outcome("snap_checkins", path, kind="records")
    assert (data is not None) == (bool(good) and len(good) == len(triples)), lines
    if data is not None:
        assert records_of(data) == naive.record_rows(triples)
    skipped = outcome("snap_checkins", path, on_bad_line="skip")
    assert (rows_of(skipped) if skipped else []) == naive.incidence_rows(t[:2] for t in good)


@FUZZ
@given(content=mutated(TSMC))
def test_fuzzed_tsmc(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fuzz.txt"
    path.write_bytes(content)
    good = [t for t in map(naive.tsmc, [line for line in naive.text_lines(path) if line]) if t is not None]
    skipped = outcome("tsmc2014", path, kind="records", on_bad_line="skip")
    assert (records_of(skipped) if skipped else []) == naive.record_rows(good)


@FUZZ
@given(content=mutated("10 12 488 \n7\n\n 12\t10\t7  7 \r\n12488"))
def test_fuzzed_lists(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fuzz.txt"
    path.write_bytes(content)
    text = content.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    lines = text.removesuffix("\n").split("\n")
    rows = [naive.fimi(line) for line in lines]
    data = outcome("fimi", path)
    assert (data is not None) == (None not in rows and any(rows)), lines
    if data is not None:
        items = sorted(set().union(*rows))
        assert rows_of(data) == [tuple(sorted(items.index(i) for i in row)) for row in rows]


MOVIES = {
    "ratings.dat": "1::10::5::978300760\n1::20::3::978302109\n2::10::4::-1\n",
    "users.dat": "1::F::1::10::48067\n2::M::56::16::70072\n",
    "movies.dat": "10::Été (1995)::Animation|Comedy\n20::Golden: Eye (1995)::Action\n",
}
OLD_MOVIES = {
    "u.data": "1\t10\t5\t881250949\n2\t20\t3\t891717742\n",
    "u.user": "1|24|M|technician|85711\n2|53|F|other|94043\n",
    "u.item": "".join(f"{i}|Été (1995)|01-Jan-1995||http://x{'|0' * 19}\n" for i in (10, 20)),
}
FOLDERS = {"movielens_records": MOVIES, "movielens_genres": MOVIES, "movielens_100k": OLD_MOVIES}


@FUZZ
@given(data=st.data(), reader=st.sampled_from(sorted(FOLDERS)), skip=st.booleans())
def test_fuzzed_folders(tmp_path: Path, data: st.DataObject, reader: str, skip: bool) -> None:
    fuzzed = data.draw(st.sampled_from(sorted(FOLDERS[reader])))
    for name, text in FOLDERS[reader].items():
        (tmp_path / name).write_bytes(data.draw(mutated(text)) if name == fuzzed else text.encode("latin-1"))
    outcome(reader, tmp_path, on_bad_line="skip" if skip else "error")


@pytest.mark.parametrize("reader", FOLDERS)
def test_the_good_folders_are_good(tmp_path: Path, reader: str) -> None:
    for name, text in FOLDERS[reader].items():
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    assert outcome(reader, tmp_path) is not None


@FUZZ
@given(data=st.data(), reader=st.sampled_from(sorted(GOOD)), skip=st.booleans())
def test_fuzzed_files_of_every_reader(tmp_path: Path, data: st.DataObject, reader: str, skip: bool) -> None:
    content = data.draw(mutated(GOOD[reader]))
    path = tmp_path / "fuzz.txt"
    path.write_bytes(content if data.draw(st.booleans()) else gzip.compress(content)[: data.draw(st.integers(2, 400))])
    outcome(reader, path, on_bad_line="skip" if skip else "error")
