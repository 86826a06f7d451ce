"""Datasets whose files may be missing: left out with the reason, or generated; never where a path is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dpbench.config.compose import compose
from dpbench.engine.plan import make_plan
from dpbench.errors import UserError


@pytest.fixture(autouse=True)
def nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))


def baskets(folder: Path) -> Path:
    path = folder / "baskets.dat.gz"
    path.write_bytes(gzip.compress(b"1 2 3\n2 3\n3\n"))
    return path


@pytest.mark.parametrize("experiment", ["gs/real", "cross/real", "cross/real_topk"])
def test_what_is_not_here_is_left_out_with_the_reason(experiment: str, tmp_path: Path) -> None:
    run = compose(experiment, "smoke", {"dataset.retail.path": baskets(tmp_path), "results": tmp_path / "r"})
    assert [dataset.name for dataset in run.datasets] == ["retail"]
    reasons = dict(run.left_out)
    assert set(reasons) == {"kos", "bms_webview", "gowalla", "foursquare", "movielens", "adult", "onthemap"}
    assert reasons["kos"].endswith("give dataset.kos.path=FOLDER, or: python -m dpbench data get kos")
    assert reasons["bms_webview"].endswith("give dataset.bms_webview.path=FOLDER")  # there is no address to get it from
    plan = make_plan(run)
    assert ("kos", reasons["kos"]) in plan.run.left_out
    assert {setting.dataset.name for setting in plan.run.settings} == {"retail"}
    assert run.changes == (), "files that are given are part of the definition"


def test_a_path_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such file or folder"):
        compose("gs/real", "smoke", {"dataset.kos.path": tmp_path / "nowhere"})


def test_nothing_at_all_makes_an_empty_plan() -> None:
    run = compose("gs/real", "smoke")
    assert run.datasets == ()
    assert len(run.left_out) == 8
    assert not make_plan(run).run.settings


def test_generated_in_place_of_files() -> None:
    run = compose("analytics/table5_readings", "smoke")
    assert [(dataset.name, dataset.original) for dataset in run.datasets] == [("movielens", False)]
    assert run.left_out == ()


def test_words_that_mean_nothing() -> None:
    with pytest.raises(UserError, match="expected one of: generate, leave_out"):
        compose("gs/real", "smoke", {"dataset.kos.missing": "perhaps"})
    with pytest.raises(UserError, match="kos has no generator"):
        compose("gs/real", "smoke", {"dataset.kos.missing": "generate"})
    with pytest.raises(UserError, match="has no effect: netflix is generated"):
        compose("gs/fig9", "smoke", {"dataset.netflix.missing": "leave_out"})
