"""Bounds that datasets declare: read from their YAML alone, given to mechanisms with `bound: declared`, part of the key."""

from __future__ import annotations

import pytest

from dpbench.config import catalogue
from dpbench.config.catalogue import DatasetEntry
from dpbench.config.compose import compose
from dpbench.engine.plan import make_plan
from dpbench.errors import UserError

DATASETS = [name for name in catalogue.options("dataset") if catalogue.dataset(name).bounds]


def plan(tmp_path, **overrides):
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
    run = make_plan(compose(scale="smoke", overrides={**given, "results": tmp_path}, folders=[tmp_path / "conf"])).run
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
