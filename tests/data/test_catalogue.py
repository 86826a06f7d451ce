"""Catalogues: their invariants, the generator's shape, the reader of MovieLens' files, and the task."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import dpbench
from dpbench.data import Catalogue, History
from dpbench.errors import UserError
from dpbench.sources import SOURCES
from dpbench.tasks import TASKS

from support.paths import REAL as REAL_DATA

REAL = REAL_DATA / "movielens-1m"


def test_matrix_and_histories_are_kept():
    matrix = [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    catalogue = Catalogue.from_matrix(matrix, [[2, 0, 2], []])
    assert np.array_equal(catalogue.matrix().toarray(), matrix)
    assert (catalogue.items, catalogue.categories, catalogue.users, catalogue.widest_item) == (3, 3, 2, 2)
    assert catalogue.history(0).tolist() == [0, 2]
    assert catalogue.aggregates.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert catalogue.aggregate(np.array([0, 1])).tolist() == [1, 0, 1]
    assert catalogue.statistics()["average_history"] == 1
    assert not catalogue.histories.flags.writeable


def test_wrong_catalogues_are_refused():
    with pytest.raises(UserError, match="0/1 matrix"):
        Catalogue.from_matrix([[2, 0]])
    with pytest.raises(UserError, match=r"index 5 is outside 0\.\.1"):
        Catalogue.from_matrix([[1], [0]], [[5]])
    with pytest.raises(UserError, match="holds 1 twice"):
        Catalogue(np.array([0, 2]), np.array([1, 1]), 2, np.array([0]), np.empty(0, int)).validate()
    with pytest.raises(UserError, match="offsets of histories"):
        Catalogue(np.array([0, 1]), np.array([1]), 2, np.array([0, 3]), np.empty(0, int))


def test_generator_has_the_size_asked_for_and_movielens_shape():
    """Mean z 4.537 on the real catalogue; the generator's varies by 0.1 from seed to seed."""
    means = []
    for seed in range(3):
        data = SOURCES.make("catalogue", users=200).build(np.random.default_rng(seed))
        data.validate()
        sizes = np.diff(data.history_ptr)
        assert (data.items, data.categories, data.widest_item, data.users) == (3883, 18, 6, 200)
        assert (sizes.min(), sizes.max() <= 2314) == (20, True)
        assert 0.75 < np.median(sizes) / 96 < 1.33
        assert 1.55 < data.statistics()["average_categories"] < 1.75
        means.append(dpbench.mechanism("s_dpdp").calibrate(data, 1.0).mean())
    assert 4.3 < np.mean(means) < 4.8
    again = SOURCES.make("catalogue", users=200).build(np.random.default_rng(2))
    assert np.array_equal(again.histories, data.histories)
    assert np.array_equal(again.item_categories, data.item_categories)


def test_generator_refuses_what_cannot_be():
    with pytest.raises(UserError, match="widest=9"):
        SOURCES.make("catalogue", categories=8, widest=9)
    with pytest.raises(UserError, match="largest=2314"):
        SOURCES.make("catalogue", items=100)


@pytest.fixture
def folder(tmp_path):
    movies = "10::Été (1999)::Drama|Comedy\n3::A::B (2000)::Western\n".replace("A::B", "A: B")
    (tmp_path / "movies.dat").write_bytes(movies.encode("latin-1"))
    with gzip.open(tmp_path / "ratings.dat.gz", "wt") as file:
        file.write("7::10::5::-1\n7::3::1::99\n2::10::3::98\n")
    return tmp_path


def test_reader_numbers_by_order(folder):
    data = SOURCES.make("movielens_genres", path=str(folder)).build(np.random.default_rng(0))
    data.validate()
    assert data.matrix().toarray().tolist() == [[0, 0, 1], [1, 1, 0]]  # movies 3, 10; Comedy, Drama, Western
    assert [data.history(user).tolist() for user in (0, 1)] == [[1], [0, 1]]  # users 2, 7


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("movies.dat", "10::x::Drama\n10::y::War\n", "movies.dat, line 2: movie 10"),
        ("movies.dat", "10::x\n", "movies.dat, line 1: expected 3 fields"),
        ("ratings.dat", "1::10::5::0\n1::11::5::0\n", r"ratings.dat, line 2: movie 11 is not in .*movies.dat"),
        (
            "ratings.dat",
            "1::10::5::0\n1::10::4::0\n",
            "ratings.dat, line 2: user 1 rates movie 10 again: expected each",
        ),
        ("ratings.dat", "\n", "ratings.dat: there is not a single good rating: expected 4 fields"),
        ("ratings.dat", "1::10::5::0\n1::ten::5::0\n", "ratings.dat, line 2: expected a whole number"),
    ],
)
def test_reader_names_the_bad_line(folder, file, text, message):
    (folder / file).write_text(text)
    with pytest.raises(UserError, match=message):
        SOURCES.make("movielens_genres", path=str(folder)).build(np.random.default_rng(0))


def test_reader_names_the_missing_file(folder):
    (folder / "movies.dat").unlink()
    with pytest.raises(UserError, match=r"movies\.dat"):
        SOURCES.make("movielens_genres", path=str(folder)).files()
    with pytest.raises(UserError, match="is a file"):
        SOURCES.make("movielens_genres", path=str(folder / "ratings.dat.gz")).files()


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no MovieLens 1M at {REAL}")
def test_real_movielens_has_the_published_noise():
    data = SOURCES.make("movielens_genres", path=str(REAL)).build(np.random.default_rng(0))
    data.validate()
    statistics = data.statistics()
    assert (statistics["items"], statistics["categories"], statistics["widest_item"]) == (3883, 18, 6)
    assert (statistics["users"], statistics["largest_history"], data.histories.size) == (6040, 2314, 1000209)
    mechanism = dpbench.mechanism("s_dpdp")
    assert mechanism.calibrate(data, 1.0).mean() == pytest.approx(4.537, abs=1e-3)
    assert dpbench.mechanism("laplace_categories").expected_error(data, 1.0) == 6
    assert 1 / (data.matrix() @ (1 / mechanism.calibrate(data, 1.0))).max() == pytest.approx(1, abs=1e-9)


def test_task_scores_the_users_own_aggregates():
    data = Catalogue.from_matrix([[1, 0], [1, 1], [0, 1]], [[0], [1, 2]])
    task = TASKS.make("category_aggregates")
    release = History(user=1, history=np.array([0, 1]), aggregates=data.aggregate(np.array([0, 1])))
    scores = task.score(data, release, np.random.default_rng(0))
    assert task.errors(data, release).tolist() == [1, -1]
    assert scores == {"mae": 1.0, "rmse": 1.0, "mse": 1.0, "jaccard": 1 / 3, "items": 3.0}
    bare = task.score(data, History(user=0, aggregates=np.array([3.0, 0.0])), np.random.default_rng(0))
    assert (bare["mae"], bare["mse"], "jaccard" in bare) == (1.0, 2.0, False)
