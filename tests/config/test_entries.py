"""Entries become parts of a run: datasets whose files may be missing, bounds that datasets declare, classes without a YAML."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from dpbench.cli import main
from dpbench.config import catalogue
from dpbench.config.compose import compose
from dpbench.config.dataset_entry import DatasetEntry
from dpbench.engine.plan import make_plan
from dpbench.errors import UserError

DATASETS = [name for name in catalogue.options("dataset") if catalogue.dataset(name).bounds]


@pytest.fixture(autouse=True)
def nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))


# Files that may be missing: left out with the reason, or generated; never where a path is wrong.


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
    run = compose("analytics/readings", "smoke", {"dataset": ["movielens"]})
    assert [(dataset.name, dataset.original) for dataset in run.datasets] == [("movielens", False)]
    assert run.left_out == ()


def test_words_that_mean_nothing() -> None:
    with pytest.raises(UserError, match="expected one of: generate, leave_out"):
        compose("gs/real", "smoke", {"dataset.kos.missing": "perhaps"})
    with pytest.raises(UserError, match="kos has no generator"):
        compose("gs/real", "smoke", {"dataset.kos.missing": "generate"})
    with pytest.raises(UserError, match="has no effect: netflix is generated"):
        compose("gs/fig9", "smoke", {"dataset.netflix.missing": "leave_out"})


# Bounds: read from the YAML of datasets alone, given to mechanisms with `bound: declared`, part of the key.


def plan(tmp_path: Path, **overrides: Any) -> Any:
    given = {"dataset": ["trajectory"], "mechanism": ["lpa"], "epsilon": [1], "results": tmp_path}
    return make_plan(compose(scale="smoke", overrides={**given, **overrides}))


def test_a_declared_bound_is_the_datasets(tmp_path):
    declared = plan(tmp_path, dataset=["trajectory", "transactions"], **{"mechanism.lpa.bound": "declared"}).run
    assert [setting.mechanism.params["bound"] for setting in declared.settings] == [60, 100]
    assert {setting.labels()["mechanism.bound"] for setting in declared.settings} == {"declared"}
    assert all(setting.private and setting.neighbours for setting in declared.settings)


def test_a_declared_bound_has_the_key_of_the_number(tmp_path):
    observed, declared, number = (
        plan(tmp_path, **{"mechanism.lpa.bound": bound}).run.settings[0] for bound in (None, "declared", 60)
    )
    assert declared.key == number.key != observed.key
    assert (declared.id, declared.private, observed.private) == (number.id, True, False)


def test_declared_and_observed_make_an_axis(tmp_path):
    run = plan(tmp_path, **{"mechanism.lpa.bound": ["declared", None]}).run
    assert [setting.private for setting in run.settings] == [True, False]


def test_a_user_declares_it_on_the_command_line(tmp_path):
    run = plan(tmp_path, **{"mechanism.lpa.bound": "declared", "dataset.trajectory.bound": 70}).run
    assert run.settings[0].mechanism.params["bound"] == 70


def test_without_a_declared_bound_the_combination_is_left_out(tmp_path):
    (tmp_path / "conf/dataset").mkdir(parents=True)
    sizes = "rows: 200, columns: 50, largest: 20, average: 10"
    body = f"kind: incidence, source: generator, generator: incidence, sizes: {{smoke: {{{sizes}}}}}"
    (tmp_path / "conf/dataset/mine.yaml").write_text(f"mine: {{{body}}}")
    given = {"dataset": ["mine", "trajectory"], "mechanism": ["lpa"], "mechanism.lpa.bound": "declared"}
    run = make_plan(
        compose(scale="smoke", overrides={**given, "results": tmp_path / "results"}, folders=[tmp_path / "conf"])
    ).run
    assert {setting.dataset.name for setting in run.settings} == {"trajectory"}
    reason = "no bound is declared: give dataset.mine.bound=NUMBER, the most columns of one row"
    assert run.left_out == (("lpa(bound=declared) on mine", reason),)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"dataset.trajectory.bound": 70},
            "has no effect without a mechanism that takes it: give mechanism.lpa.bound=declared as well",
        ),
        (
            {"dataset.trajectory.bound": 0},
            "dataset.trajectory.bound=0 is not valid: expected a whole number, 1 or more",
        ),
        ({"dataset.trajectory.bound": "many"}, "'many' is not valid: expected a whole number"),
        ({"mechanism.lpa.bound": "declred"}, "bound='declred' is not valid"),
    ],
)
def test_nonsense_is_refused(tmp_path, overrides, message):
    with pytest.raises(UserError, match=message):
        plan(tmp_path, **overrides)


def test_a_bound_of_an_unknown_scale_is_refused():
    with pytest.raises(UserError, match=r"unknown scale in dataset.mine.bound: 'lptop': did you mean 'laptop'"):
        DatasetEntry.of("mine", {"kind": "incidence", "source": "generator", "bound": {"lptop": 3}})


@pytest.mark.parametrize("name", DATASETS)
def test_bounds_are_declared_round_numbers_and_not_counted(name):
    """Above the largest row that the generator is told, and not equal to it unless rows may hold every column."""
    entry = catalogue.dataset(name)
    for scale, sizes in entry.sizes.items():
        bound = entry.bounds[scale]
        most = sizes.get("columns") or sizes.get("items")
        assert bound == most or bound % 10 == 0
        if entry.kind == "incidence":
            assert bound > sizes["largest"]


# Classes without a YAML.

EXPERIMENT = """# @package _global_
defaults:
  - override /dataset: [trajectory]
  - override /mechanism: [lpa, {name}]
  - override /task: [column_counts]
mechanism: {{Halved: {{share: 0.25}}}}
"""
CLASS = """from dataclasses import dataclass
import dpbench

@dataclass(frozen=True, kw_only=True)
class Halved:
    share: float = 0.5

    def release(self, data, epsilon, rng, noise="float"):
        return dpbench.mechanism("lpa").release(data, epsilon=epsilon * self.share, rng=rng)
"""


def test_a_dotted_path_in_an_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "halving.py").write_text(CLASS)
    experiment = tmp_path / "conf" / "experiment" / "mine" / "half.yaml"
    experiment.parent.mkdir(parents=True)
    experiment.write_text(EXPERIMENT.format(name="halving.Halved"))
    words = ["run", "experiment=mine/half", "scale=smoke", "trials=2", "runner.jobs=1", "tracking=none", "figure=false"]
    assert main([*words, "dry=true", "mechanism.Halved.share=[0.1,0.2]"]) == 0
    assert "Halved" in capsys.readouterr().out
    config = compose("mine/half", "smoke", folders=[tmp_path / "conf"])
    assert [(m.name, m.cls, m.params) for m in config.mechanisms][1] == ("Halved", "halving.Halved", {"share": 0.25})
    assert config.changes == ()
    assert main(words) == 0
    assert "0 failed" in capsys.readouterr().out
    experiment.write_text(EXPERIMENT.format(name="halving.Havled"))
    assert main(words) == 2
    place = "conf/experiment/mine/half.yaml, line 2: "
    assert (
        f"{place}mechanism 'halving.Havled': halving has no 'Havled': did you mean 'Halved'?" in capsys.readouterr().err
    )


def test_dotted_paths_of_the_same_class_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("first_half", "second_half"):
        (tmp_path / f"{module}.py").write_text(CLASS)
    config = compose(
        scale="smoke", overrides=["dataset=[trajectory]", "mechanism=[lpa,first_half.Halved,second_half.Halved]"]
    )
    assert [m.name for m in config.mechanisms] == ["lpa", "Halved", "second_half_Halved"]


def test_tasks_need_no_yaml(tmp_path: Path) -> None:
    """Ours are known by their registered names; a user's own YAML of the same group still works."""
    assert catalogue.task("column_counts").cls == "column_counts"
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "strict.yaml").write_text("strict: {class: column_counts, sanity: 0.5}\n")
    assert {"strict", "column_counts"} <= {*catalogue.options("task", tmp_path)}
    words = ["dataset=[trajectory]", "mechanism=[lpa]", "task=[leaderboard,strict]"]
    config = compose(scale="smoke", overrides=words, folders=[tmp_path])
    assert [(task.name, task.cls, task.params) for task in config.tasks] == [
        ("leaderboard", "leaderboard", {}),
        ("strict", "column_counts", {"sanity": 0.5}),
    ]
