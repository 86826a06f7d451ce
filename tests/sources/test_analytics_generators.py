"""Generators of records against Table 4 and the shapes the text tells; the reader of MovieLens on good and bad files.

Where chance decides (days of the week), seeds are fixed and differences are far beyond it: tens of standard errors.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import yaml

from dpbench import Records
from dpbench.errors import UserError
from dpbench.mechanisms.base import mechanism
from dpbench.numerics.sample_error import optimal_l, sample_mse
from dpbench.paths import CONF
from dpbench.sources import SkippedLines
from dpbench.sources.base import SOURCES
from dpbench.sources.contexts import GROUPS

from support.paths import REAL as REAL_DATA

REAL = REAL_DATA / "movielens-1m"
needs_movielens = pytest.mark.skipif(
    not REAL.is_dir(), reason="MovieLens 1M is not here: set DPBENCH_TEST_DATA to the folder above movielens-1m"
)

TABLE_4 = {
    "gowalla": (12579, 15200, 739600, 14380, 1),
    "foursquare": (45289, 17967, 1276988, 1303, 1),
    "movielens": (6040, 3706, 1000209, 2314, 20),
}
_built: dict[tuple[str, str], Records] = {}


def generated(name: str, scale: str) -> Records:
    """The dataset as the configuration asks for it, with netflix as records; built once a session."""
    if (name, scale) not in _built:
        entry = yaml.safe_load((CONF / "dataset" / f"{name}.yaml").read_text(encoding="utf-8"))[name]
        extra = {"kind": "records"} if name == "netflix" else {}
        source = SOURCES.make(entry["generator"], **entry["sizes"][scale], **extra)
        _built[name, scale] = source.build(np.random.default_rng(0))
    return _built[name, scale]


@pytest.mark.parametrize("name", TABLE_4)
def test_table_4_exactly(name: str) -> None:
    data = generated(name, "paper")
    stats = data.statistics()
    assert tuple(stats[key] for key in ("users", "items", "records", "largest", "smallest")) == TABLE_4[name]
    assert stats["contexts"] == (6 if name == "movielens" else 7)
    assert data.counts.min() >= 1  # every item of the table occurs
    data.validate()


@pytest.mark.parametrize("name", [*TABLE_4, "netflix"])
def test_smoke_sizes(name: str) -> None:
    entry = yaml.safe_load((CONF / "dataset" / f"{name}.yaml").read_text(encoding="utf-8"))[name]["sizes"]["smoke"]
    data = generated(name, "smoke")
    data.validate()
    assert data.largest_user == entry["largest"]
    if name in TABLE_4:
        stats = data.statistics()
        assert {key: stats[key] for key in ("users", "items", "records")} == {
            k: entry[k] for k in ("users", "items", "records")
        }
    assert data.repeats == (name in ("gowalla", "foursquare"))
    assert data.context_labels is not None
    assert len(data.context_labels) == data.n_contexts


@pytest.mark.parametrize("name", ["gowalla", "movielens", "netflix"])
def test_same_seed_same_data(name: str) -> None:
    entry = yaml.safe_load((CONF / "dataset" / f"{name}.yaml").read_text(encoding="utf-8"))[name]
    extra = {"kind": "records"} if name == "netflix" else {}
    source = SOURCES.make(entry["generator"], **entry["sizes"]["smoke"], **extra)
    again, other = source.build(np.random.default_rng(0)), source.build(np.random.default_rng(1))
    first = generated(name, "smoke")
    for key in ("indptr", "items", "contexts"):
        assert np.array_equal(getattr(first, key), getattr(again, key))
    assert not np.array_equal(first.items, other.items)


def test_occasional_users_go_out_from_friday_to_sunday() -> None:
    """Figure 11: the samples have a larger share of these days than the data, HPA's the largest."""
    data = generated("foursquare", "paper")
    user = np.repeat(data.user_sizes, data.user_sizes)
    late = data.contexts >= 4
    assert late[user <= 10].mean() > late[user > 100].mean() + 0.03
    assert np.median(data.user_sizes) <= 10  # the majority contributes less than l records
    shares = [late.mean()]
    for name in ("sra", "hpa"):
        release = mechanism(name).release(data, 1.0, np.random.default_rng(1))
        days = release.sample.contexts
        assert (days[4:] / days.sum() > data.edges.sum(axis=0)[4:] / data.records).all()
        assert (days[:4] / days.sum() < data.edges.sum(axis=0)[:4] / data.records).all()
        shares.append(days[4:].sum() / days.sum())
    assert shares == sorted(shares)


def test_users_return_to_their_places_and_the_most_popular_place_is_anywhere() -> None:
    data = generated("foursquare", "paper")
    assert 0.2 < data.incidence().ones / data.records < 0.5
    assert generated("gowalla", "paper").counts.argmax() > 100  # items are in no order


def test_equation_22_finds_the_best_l_of_figure_6() -> None:
    """On Foursquare the expected error of SRA is lowest at the l of the grid that is nearest to Equation 22's (on a
    logarithmic scale), for items and for edges: 30 and 5, as Section 6.2 says."""
    data = generated("foursquare", "paper")
    grid = np.array([2, 5, 10, 20, 30, 50])
    for columns, counts, told in (
        (data.item_columns(), data.counts, 30),
        (data.edge_columns(), data.edges, 5),
    ):
        errors = [sample_mse(columns, int(most), most / 0.5) for most in grid]
        best = optimal_l(data.users, counts / data.records, data.records / data.users, 0.5)
        assert grid[int(np.argmin(errors))] == told
        assert grid[int(np.argmin(np.abs(np.log(grid / best))))] == told


@needs_movielens
def test_real_movielens() -> None:
    data = SOURCES.make("movielens_records", path=str(REAL)).build(np.random.default_rng(0))
    data.validate()
    assert data.statistics() == {
        "users": 6040,
        "items": 3706,
        "records": 1000209,
        "largest": 2314,
        "average": pytest.approx(165.6, abs=0.05),
        "smallest": 20,
        "contexts": 6,
        "largest_l2": pytest.approx(2314**0.5),
    }


TABLE_5 = """American Beauty|Star Wars: Episode VI|Star Wars: Episode V |Matrix, The|Star Wars: Episode IV|Terminator 2
Saving Private Ryan|Jurassic Park|Star Wars: Episode I |Braveheart""".replace("\n", "|").split("|")


@needs_movielens
def test_table_5s_raw_column() -> None:
    """The ten movies in the paper's order, and the tie for the tenth place that it does not mention."""
    from dpbench.tasks.base import TASKS

    data = SOURCES.make("movielens_records", path=str(REAL)).build(np.random.default_rng(0))
    rng = np.random.default_rng(0)
    scores = TASKS.make("top_items").score(data, mechanism("hpa", l=30).release(data, 1.0, rng), rng)
    assert data.context_labels[0] == "M, under 25"
    assert scores["listed"] == 11
    for i, name in enumerate(TABLE_5, 1):
        assert str(scores[f"raw_{i}"]).startswith(name)
    assert scores["raw_count_1"] == 591
    assert str(scores["raw_11"]).startswith("Men in Black")
    assert scores["raw_count_10"] == scores["raw_count_11"] == 470


@needs_movielens
def test_the_generator_is_shaped_like_the_real_movielens() -> None:
    """Quartiles of the users' and of the movies' numbers of ratings within a quarter; the groups' ratings within 40 %, because
    the generator's groups have the right number of users, but all the same sizes."""
    real = SOURCES.make("movielens_records", path=str(REAL)).build(np.random.default_rng(0))
    ours = generated("movielens", "paper")
    for what in ("user_sizes", "counts"):
        quartiles = [np.quantile(getattr(data, what), (0.25, 0.5, 0.75, 0.99)) for data in (ours, real)]
        assert quartiles[0] == pytest.approx(quartiles[1], rel=0.25)
    assert ours.edges.sum(axis=0) == pytest.approx(real.edges.sum(axis=0), rel=0.4)


GOOD = {
    "ratings.dat": "7::30::5::978300760\n2::10::3::978302109\n7::10::1::-1\n9::30::4::5\n",
    "users.dat": "2::F::1::10::48067\n7::M::56::16::70072\n9::M::18::0::11111-22\n",
    "movies.dat": "10::Ça, c'est (1995)::Drama\n20::Nobody: saw it (1999)::Comedy\n30::Rest, The (2000)::Action|War\n",
}


def folder(tmp_path: Path, packed: tuple[str, ...] = (), **changes: str) -> str:
    for name, text in GOOD.items():
        raw = changes.get(name.partition(".")[0], text).encode("latin-1")
        path = tmp_path / (f"{name}.gz" if name in packed else name)
        path.write_bytes(gzip.compress(raw) if name in packed else raw)
    return str(tmp_path)


def read(path: str, **options: str) -> Records:
    return SOURCES.make("movielens_records", path=path, **options).build(np.random.default_rng(0))


@pytest.mark.parametrize("packed", [(), ("ratings.dat",), tuple(GOOD)])
def test_reads_users_and_movies_that_occur(tmp_path: Path, packed: tuple[str, ...]) -> None:
    data = read(folder(tmp_path, packed))
    assert data.item_labels == ("Ça, c'est (1995)", "Rest, The (2000)")
    assert data.user_sizes.tolist() == [1, 2, 1]
    assert data.items.tolist() == [0, 0, 1, 1]
    assert [data.context_labels[c] for c in data.contexts] == [
        "F, under 25",
        "M, above 34",
        "M, above 34",
        "M, under 25",
    ]
    assert data.context_labels == GROUPS
    assert not data.repeats


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ratings": "7::30::5\n"}, r"ratings.dat, line 1: expected 4 fields"),
        ({"ratings": GOOD["ratings.dat"] + "x::30::5::1\n"}, r"ratings.dat, line 5: expected a whole number as user"),
        ({"ratings": GOOD["ratings.dat"] + "9::30::2::1\n"}, r"ratings.dat, line 5: user 9 rates movie 30 again"),
        ({"ratings": GOOD["ratings.dat"] + "8::30::2::1\n"}, r"ratings.dat, line 5: user 8 is not in users.dat"),
        ({"ratings": GOOD["ratings.dat"] + "9::40::2::1\n"}, r"ratings.dat, line 5: movie 40 is not in movies.dat"),
        ({"ratings": GOOD["ratings.dat"] + "9::10::6::1\n"}, r"ratings.dat, line 5: rating '6' is out of range"),
        ({"ratings": ""}, r"ratings.dat, line 1: the file is empty"),
        ({"users": GOOD["users.dat"] + "11::M::33::0::1\n"}, r"users.dat, line 4: .*found M, 33"),
        ({"users": GOOD["users.dat"] + "11::X::25::0::1\n"}, r"users.dat, line 4: .*found X, 25"),
        ({"users": GOOD["users.dat"] + "9::F::25::0::1\n"}, r"users.dat, line 4: user 9 occurs a second time: exp"),
        ({"movies": "10::Only a title\n"}, r"movies.dat, line 1: expected 3 fields"),
        ({"movies": 2 * "10::A (1995)::War\n"}, r"movies.dat, line 2: movie 10 occurs a second time: expected each"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(folder(tmp_path, **changes))


def test_bad_lines_can_be_skipped_and_are_counted(tmp_path: Path) -> None:
    ratings = GOOD["ratings.dat"] + "9::30::2::1\n8::30::2::1\n8::40::2::1\n8::40::2::1\nnonsense\n"
    with pytest.warns(SkippedLines, match="^5 bad lines were skipped"):
        data = read(folder(tmp_path, ratings=ratings), on_bad_line="skip")
    assert data.records == 4


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (tmp_path / "users.dat").unlink()
    with pytest.raises(UserError, match=r"MovieLens 1M, named users\.dat"):
        read(path)
    with pytest.raises(UserError, match="there is no such file or folder"):
        read(str(tmp_path / "elsewhere"))
    with pytest.raises(UserError, match=r"ratings.dat is a file: expected the folder of MovieLens 1M"):
        read(str(tmp_path / "ratings.dat"))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("gowalla", {"users": 10, "items": 100, "records": 50, "largest": 9}, "items=100"),
        ("gowalla", {"users": 10, "items": 20, "records": 5000, "largest": 9}, "cannot sum to|5000"),
        ("ratings", {"users": 9, "items": 5, "records": 40, "largest": 9, "smallest": 1, "median": 4}, "largest=9"),
        ("foursquare", {"users": 0, "items": 5, "records": 40, "largest": 9}, "users=0"),
    ],
)
def test_impossible_sizes_are_refused(name: str, parameters: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        SOURCES.make(name, **parameters).build(np.random.default_rng(0))
