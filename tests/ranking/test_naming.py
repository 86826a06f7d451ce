"""A comparison is named by what is compared on what, so that no comparison replaces another one."""

from __future__ import annotations

import pytest

from dpbench.model.run import valid_name
from dpbench.model.setting import Dataset, Variant
from dpbench.ranking.entry import LONGEST, label_of, name_of

MINE = Variant("mine.Rounded", "mine.Rounded", {"step": 5, "bound": 20}, declared=("bound",))
VISITS = Dataset("visits", "table", {"path": "/home/me/visits.csv", "user": "who", "item": ""})
NETFLIX = Dataset("netflix", "ratings")


@pytest.mark.parametrize(
    ("path", "label"),
    [("/a/visits.csv", "visits"), ("my visits (2).csv.gz", "my_visits_2"), ("b/été.parquet", "été"), ("", "table")],
)
def test_a_table_goes_by_its_file(path, label):
    assert label_of(Dataset("table", "table", {"path": path})) == label
    assert label_of(NETFLIX) == "netflix"


def test_the_name_says_what_differs():
    names = [
        name_of(MINE, (), None, None, ""),
        name_of(MINE, (NETFLIX,), None, ["ln2", 1], "cross/topk"),
        name_of(None, (VISITS,), None, 0.5, ""),
        name_of(None, (VISITS,), 10, 0.5, ""),
    ]
    assert names == [
        "mine.Rounded-step5",
        "mine.Rounded-step5-on-netflix-epsilonln2-1-topk",
        "visits-user.who-epsilon0.5",
        "visits-user.who-bound10-epsilon0.5",
    ]


def test_long_names_are_cut_and_still_differ():
    many = [name_of(None, (VISITS,), None, [*range(last)], "") for last in (60, 61)]
    assert len({*many}) == 2
    assert all(len(name) <= LONGEST and valid_name(f"compare/{name}") for name in many)
