"""Readers against Python's own tools: the same data from the same lines, whatever the block size, gzip or plain."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpbench.data import Contingency
from dpbench.errors import UserError
from dpbench.model.setting import Dataset
from dpbench.sources.cache import open_dataset
from dpbench.sources.readers import parsing

from naive import readers as naive
from support.formats import ADULT, CHECKINS, HEADER, LODES, NETFLIX, TSMC, read, records_of, rows_of
from support.paths import real_data


@pytest.fixture(params=[4, 37, 1 << 22], ids=["blocks of 4", "blocks of 37", "one block"])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(parsing, "BLOCK", request.param)
    return request.param


@pytest.mark.parametrize("name", ["a_checkins.txt", "a_checkins.txt.gz"])
def test_snap(write: Callable[..., Path], block: int, name: str) -> None:
    path = write(name, CHECKINS)
    triples = [naive.snap(line) for line in naive.text_lines(path) if line]
    data = read("snap_checkins", path, kind="records")
    assert records_of(data) == naive.record_rows(triples) == [{(1, 2): 1}, {(0, 6): 1, (1, 1): 1, (1, 2): 1}]
    assert data.context_labels[0] == "Monday"
    assert data.repeats
    assert rows_of(read("snap_checkins", path)) == naive.incidence_rows(t[:2] for t in triples)
    everyone = read("snap_checkins", path, ids="all")
    assert (everyone.rows, everyone.columns, everyone.largest_row) == (8, 22848, 2)


def test_line_ends_do_not_matter(write: Callable[..., Path], block: int) -> None:
    plain = rows_of(read("snap_checkins", write("checkins.txt", CHECKINS)))
    variants = [CHECKINS.replace("\n", "\r\n"), CHECKINS.rstrip("\n"), "\ufeff" + CHECKINS, "\n" + CHECKINS + "\n \r\n"]
    for text in variants:
        assert rows_of(read("snap_checkins", write("other_checkins.txt", text))) == plain


def test_tsmc(write: Callable[..., Path], block: int) -> None:
    path = write("dataset_TSMC2014_NYC.txt", TSMC.encode("latin-1"))
    triples = [naive.tsmc(line) for line in naive.text_lines(path) if line]
    # 02:00 UTC on Tuesday is Monday in New York; 20:13 UTC on Saturday is Sunday in Tokyo.
    assert [t[2] for t in triples] == [1, 0, 6]
    assert records_of(read("tsmc2014", path.parent, kind="records")) == naive.record_rows(triples)
    assert rows_of(read("tsmc2014", path)) == naive.incidence_rows(t[:2] for t in triples)


def test_netflix_one_file_a_movie_or_combined(write: Callable[..., Path], block: int) -> None:
    for movie, text in NETFLIX.items():
        write(f"training_set/mv_{movie:07d}.txt", f"{movie}:\n{text}")
    combined = write("kaggle/combined_data_1.txt.gz", "".join(f"{movie}:\n{text}" for movie, text in NETFLIX.items()))
    expected = naive.netflix(naive.text_lines(combined))
    # A folder above the one with the files will do.
    for path in (combined, combined.parent, combined.parent.parent / "training_set"):
        assert records_of(read("netflix_prize", path, kind="records")) == naive.record_rows(expected)
        assert rows_of(read("netflix_prize", path)) == naive.incidence_rows(t[:2] for t in expected)
    data = read("netflix_prize", combined, kind="records")
    assert not data.repeats
    assert data.statistics()["records"] == 4


def test_a_folder_inside_the_folder(write: Callable[..., Path]) -> None:
    path = write("download/training_set/mv_0000001.txt", "1:\n5,3,2005-12-26\n")
    write("download/readme.txt", "words")
    assert read("netflix_prize", path.parent.parent).rows == 1


def test_bag_of_words(write: Callable[..., Path], block: int) -> None:
    path = write("docword.tiny.txt", "4\n6\n5\n1 2 1\n1 6 9\n3 1 2\n3 2 1\n3 5 1\n")
    data = read("uci_bag_of_words", path.parent)
    assert (data.rows, data.columns) == (4, 6)
    assert rows_of(data) == [(1, 5), (), (0, 1, 4), ()]
    shuffled = write("shuffled.txt", "4\n6\n5\n3 5 1\n1 6 9\n3 1 2\n1 2 1\n3 2 1\n")
    assert rows_of(read("uci_bag_of_words", shuffled)) == rows_of(data)


@pytest.mark.parametrize("reader", ["fimi", "node_lines"])
def test_lists(write: Callable[..., Path], block: int, reader: str) -> None:
    path = write("retail.dat", "10 12 12488 \n7\n\n 12\t10\t7  7 \r\n12488")
    assert rows_of(read(reader, path)) == [(1, 2, 3), (0,), (), (0, 1, 2), (3,)]
    assert read(reader, path, ids="all").columns == 12489


def test_movielens_100k(write: Callable[..., Path], block: int) -> None:
    """Contexts: gender M before F, then under 25, 25 to 34, above 34."""
    rest = "|01-Jan-1995||http://x|" + "|".join("0" * 19)
    write("ml-100k/u.item", f"1|Toy Story (1995){rest}\n5|Caf\xe9{rest}\n7|Unrated{rest}\n".encode("latin-1"))
    write("ml-100k/u.user", "1|24|M|technician|85711\n2|25|F|other|94043\n3|35|M|writer|32067\n")
    folder = write("ml-100k/u.data", "3\t5\t3\t881250949\n1\t5\t1\t881250949\n2\t1\t5\t0\n1\t1\t2\t9\n").parent
    data = read("movielens_100k", folder)
    assert records_of(data) == [{(0, 0): 1, (1, 0): 1}, {(0, 4): 1}, {(1, 2): 1}]
    assert data.item_labels == ("Toy Story (1995)", "Caf\xe9")
    assert rows_of(read("movielens_100k", folder.parent, kind="incidence")) == [(0, 1), (0,), (1,)]
    write("ml-100k/u.data", "3\t5\t3\t881250949\n1\t5\t1\n")
    with pytest.raises(
        UserError, match=r"u.data, line 2: expected 4 fields \(user TAB movie TAB rating TAB time\), found 3"
    ):
        read("movielens_100k", folder)


def test_adult(write: Callable[..., Path], block: int) -> None:
    write("adult.data", 2 * ADULT + "\n")
    write("adult.test.gz", "|1x3 Cross validator\n" + ADULT.replace("State-gov", "?").replace("50K", "50K."))
    data = read("uci_adult", write("adult.names", "").parent)
    assert data.size == 907200 == 9 * 16 * 7 * 15 * 6 * 5 * 2
    assert sorted(data.counts) == [1, 2]
    places = [np.unravel_index(cell, data.shape) for cell in data.cells]
    assert [p[0] for p in places] == [5, 8]
    assert [tuple(map(int, p[1:])) for p in places] == [(0, 2, 8, 3, 0, 1)] * 2


def test_adult_without_question_marks(write: Callable[..., Path], block: int) -> None:
    """People with a `?` in any field are left out, and an attribute can be; the codes of the others stay."""
    unknown = [ADULT.replace("State-gov", "?"), ADULT.replace(" X,", " ?,"), ADULT.replace("Adm-clerical", "?")]
    path = write("adult.data", ADULT + "".join(unknown) + ADULT.replace("Bachelors", "11th"))
    data = read("uci_adult", path, complete=True)
    assert (data.shape, data.total) == ((8, 16, 7, 14, 6, 5, 2), 2)
    assert [tuple(map(int, np.unravel_index(cell, data.shape))) for cell in data.cells] == [
        (5, 0, 2, 8, 3, 0, 1),
        (5, 2, 2, 8, 3, 0, 1),
    ]
    fewer = read("uci_adult", path, without="workclass, education")
    assert (fewer.shape, fewer.nonzeros, fewer.total) == ((7, 15, 6, 5, 2), 2, 5)
    with pytest.raises(UserError, match=r"unknown attribute in without: 'workclas': did you mean 'workclass'"):
        read("uci_adult", path, without="workclas")
    with pytest.raises(UserError, match=r"complete='yes' is not valid: expected true or false"):
        read("uci_adult", path, complete="yes")


def test_lodes_of_many_states_at_seven_digits(write: Callable[..., Path], block: int) -> None:
    """The paper's locations, county and two digits of the tract, over any number of states, against the naive reader."""
    rng = np.random.default_rng(3)
    for state, code in (("al", 1), ("de", 10), ("dc", 11), ("wy", 56)):
        for part in ("main", "aux"):
            blocks = rng.integers(0, 4, (40, 4))  # few counties and tracts, so that pairs repeat
            homes = np.where(part == "aux", rng.choice([1, 10, 11, 56], 40), code)
            lines = [
                f"{code:02d}{1 + 2 * c:03d}{t:02d}{k:04d}{1000 + b:04d},{home:02d}{1 + 2 * b:03d}{c:02d}{k:04d}1001,{1 + b},0,1\n"
                for (c, t, k, b), home in zip(blocks.tolist(), homes.tolist(), strict=True)
            ]
            write(f"{state}_od_{part}_JT00_2008.csv", HEADER + "".join(lines))
    folder = write("readme.txt", "").parent
    data = read("lodes_od", folder, digits=7)
    expected = naive_lodes(folder, 7)
    assert dict(zip(data.cells.tolist(), data.counts.tolist(), strict=True)) == expected
    assert data.total == sum(expected.values())
    assert data.shape[0] > 4 * 4  # counties of four states, each with several parts


def test_lodes(write: Callable[..., Path], block: int) -> None:
    write("dc_od_main_JT00_2023.csv", HEADER + "110010001011000,110010002011001,3,1,20251202\n")
    # A second state; its tract comes before, and Alabama's leading zero is part of the code.
    write("al_od_main_JT00_2023.csv.gz", HEADER + '010010201001000,110010001021000,4,1,"x"\n' * 2)
    folder = write("readme.txt", "").parent
    data = read("lodes_od", folder)
    assert data.shape == (4, 4)  # every tract that is a workplace or a home
    expected = naive_lodes(folder, 11)
    assert dict(zip(data.cells.tolist(), data.counts.tolist(), strict=True)) == expected
    states = read("lodes_od", folder, digits=2)
    assert states.shape == (2, 2)
    assert (
        dict(zip(states.cells.tolist(), states.counts.tolist(), strict=True)) == {1: 8, 3: 3} == naive_lodes(folder, 2)
    )


def naive_lodes(folder: Path, digits: int) -> dict[int, int]:
    sums: Counter = Counter()
    for path in sorted(folder.glob("*_od_*")):
        for line in list(naive.text_lines(path))[1:]:
            if line:
                work, home, jobs = line.split(",")[:3]
                sums[work.zfill(15)[:digits], home.zfill(15)[:digits]] += int(jobs)
    places = sorted({p for pair in sums for p in pair})
    return {places.index(w) * len(places) + places.index(h): jobs for (w, h), jobs in sums.items() if jobs}


# The original files


def test_gowalla_file() -> None:
    path = real_data("gowalla", "checkins_sample.txt.gz")
    data = read("snap_checkins", path.parent, kind="records")
    numbers = data.statistics()
    assert [numbers[k] for k in ("users", "items", "records", "largest", "smallest")] == [1000, 24209, 157251, 1624, 15]
    pairs = read("snap_checkins", path)
    assert (pairs.rows, pairs.columns, pairs.ones, pairs.largest_row) == (1000, 24209, 92845, 973)


def test_foursquare_file() -> None:
    path = real_data("foursquare", "tsmc2014_nyc_sample.txt.gz")
    data = read("tsmc2014", path.parent, kind="records")
    assert records_of(data) == naive.record_rows(naive.tsmc(line) for line in naive.text_lines(path) if line)
    numbers = data.statistics()
    assert [numbers[k] for k in ("users", "items", "records", "largest", "smallest")] == [962, 4330, 21393, 502, 4]
    assert read("tsmc2014", path).ones == 8849


def test_bag_of_words_file() -> None:
    data = read("uci_bag_of_words", real_data("bagofwords"))
    numbers = data.statistics()
    assert (data.rows, data.columns, data.ones, data.largest_row) == (3430, 6906, 353160, 457)
    assert round(numbers["average_count"], 2) == 51.14


def test_netflix_files() -> None:
    data = read("netflix_prize", real_data("netflix"), kind="records")
    assert (data.records, data.users, data.n_items) == (20352, 19519, 10)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("retail.dat.gz", (88162, 16470, 908576, 76)), ("BMS-WebView-1.dat.gz", (59602, 497, 149639, 267))],
)
def test_fimi_files(name: str, expected: tuple[int, ...]) -> None:
    path = real_data("fimi", name)
    data = read("fimi", path)
    assert (data.rows, data.columns, data.ones, data.largest_row) == expected
    some = [naive.fimi(line) for line in list(naive.text_lines(path))[:500]]
    assert [set(row) for row in rows_of(read("fimi", path, ids="all"))[:500]] == some


def test_adult_files() -> None:
    folder = real_data("adult")
    data = read("uci_adult", folder)
    assert (data.size, data.nonzeros, data.total) == (907200, 8619, 32561 + 16281)
    assert (read("uci_adult", folder / "adult.data.gz").total, read("uci_adult", folder / "adult.test.gz").total) == (
        32561,
        16281,
    )
    complete = read("uci_adult", folder, complete=True, without="workclass")
    assert (complete.total, complete.nonzeros, round(complete.statistics()["mean"], 2)) == (45222, 5038, 8.98)


def test_lodes_file() -> None:
    folder = real_data("lodes")
    data = read("lodes_od", folder)
    numbers = data.statistics()
    assert (data.nonzeros, data.shape, data.total) == (23887, (206, 206), 220857)
    assert (round(numbers["mean"], 2), numbers["largest"]) == (9.25, 403)
    assert dict(zip(data.cells.tolist(), data.counts.tolist(), strict=True)) == naive_lodes(folder, 11)
    blocks: Contingency = read("lodes_od", folder, digits=15)
    assert blocks.nonzeros == 180324
    paper = read("lodes_od", folder, digits=7)
    assert paper.total == 220857
    assert dict(zip(paper.cells.tolist(), paper.counts.tolist(), strict=True)) == naive_lodes(folder, 7)


# The cache


def test_second_use_comes_from_the_cache_until_the_file_changes(write: Callable[..., Path]) -> None:
    path = write("retail.dat", "1 2\n2 3\n")
    spec = Dataset("transactions", "fimi", {"path": str(path)})
    said: list[str] = []
    first = open_dataset(spec, say=said.append)
    assert open_dataset(spec, say=said.append).fingerprint == first.fingerprint
    assert len(said) == 1
    write("retail.dat", "1 2\n2 3\n4\n")
    again = open_dataset(spec, say=said.append)
    assert (first.data.rows, again.data.rows, said[1:]) == (2, 3, ["building transactions again: retail.dat changed"])
    assert again.fingerprint != first.fingerprint


@pytest.mark.slow
@pytest.mark.timed
def test_a_large_ratings_file_is_fast(write: Callable[..., Path]) -> None:
    """About a million lines in a second or two, from the cache in a fraction of that; of processor time.
    Compilation is outside, as it happens once a machine."""
    rng = np.random.default_rng(5)
    lines = 1_000_000
    pairs = zip(rng.integers(1, 480189, lines // 10).tolist(), rng.integers(10, 32, lines // 10).tolist(), strict=True)
    part = "".join(f"{user},3,2005-12-{day}\n" for user, day in dict(pairs).items())
    lines = 10 * part.count("\n")
    path = write("combined_data_1.txt", "".join(f"{movie}:\n{part}" for movie in range(1, 11)))
    read("netflix_prize", write("combined_data_2.txt", "1:\n1,1,2005-12-12\n"), kind="records")
    spec = Dataset("big", "netflix_prize", {"path": str(path), "kind": "records"})
    began = time.process_time()
    data = open_dataset(spec).data
    built = time.process_time() - began
    assert data.records == lines
    began = time.process_time()
    open_dataset(spec)
    assert built < 5
    assert time.process_time() - began < built / 3


def test_people_and_jobs_by_single_attributes(write: Callable[..., Path]) -> None:
    """As incidence a row has one value of each attribute: every margin of the table is a part of the columns."""
    one = ADULT + ADULT.replace("State-gov", "Private")
    path = write("adult.data", one)
    people, table = read("uci_adult", path, kind="incidence"), read("uci_adult", path)
    shape = (9, 16, 7, 15, 6, 5, 2)
    assert (people.rows, people.columns, set(people.row_sizes.tolist())) == (2, sum(shape), {7})
    dense = np.zeros(shape)
    dense[np.unravel_index(table.cells, shape)] = table.counts
    margins = [dense.sum(axis=tuple(k for k in range(7) if k != axis)) for axis in range(7)]
    assert people.counts.tolist() == np.concatenate(margins).tolist()
    jobs = read("lodes_od", write("dc_od_main_JT00_2023.csv", LODES), kind="incidence")
    pairs = read("lodes_od", write("dc_od_main_JT00_2023.csv", LODES))
    assert (jobs.rows, jobs.largest_row, jobs.ones) == (pairs.counts.sum(), 2, 2 * pairs.counts.sum())
