"""Worlds of a dataset: chosen by name, for one dataset or for all, shown in labels, and refused where they have no effect."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from dpbench.cli import main
from dpbench.cli.completion import candidates
from dpbench.config import catalogue
from dpbench.config.compose import compose
from dpbench.config.dataset_entry import SCALES, DatasetEntry
from dpbench.config.entries import datasets
from dpbench.errors import UserError
from dpbench.model.run import Run
from dpbench.model.setting import Dataset, origins
from dpbench.model.world import LABEL
from dpbench.storage.frame import one_world

TWO = {
    "kind": "incidence",
    "source": "generator",
    "generator": "equal_rows",
    "worlds": {"few": {"says": "few rows"}, "many": {"says": "many rows", "set": {"rows": 50}}},
}
WITH_WORLDS = [name for name in catalogue.options("dataset") if catalogue.dataset(name).worlds]


def taken(*words: str) -> list[tuple[str, str]]:
    """Dataset and world of every dataset in a dry run of gs/fig9."""
    run = compose("gs/fig9", "smoke", ["mechanism=[lpa]", "epsilon=[1]", "tracking=none", *words])
    return [(dataset.name, dataset.world) for dataset in run.datasets]


def test_worlds_are_chosen_for_one_dataset_or_for_all() -> None:
    both = "dataset=[checkin,equal_rows]"
    assert taken(both) == [("checkin", ""), ("equal_rows", "")]
    assert taken(both, "dataset.checkin.world=pairs") == [("checkin", "pairs"), ("equal_rows", "")]
    assert taken(both, "world=pairs") == [("checkin", "pairs"), ("equal_rows", "")]
    every = [
        (name, "" if world == "checkins" else world) for name in ["checkin"] for world in catalogue.dataset(name).worlds
    ]
    assert taken(both, "world=all") == [*every, ("equal_rows", "")]
    # What is said of one dataset goes before what is said of all.
    assert taken(both, "world=all", "dataset.checkin.world=[default,pairs]") == [
        ("checkin", ""),
        ("checkin", "pairs"),
        ("equal_rows", ""),
    ]
    assert taken("dataset=[checkin]", "world=checkins") == [("checkin", "")]


def test_a_world_changes_the_sizes_of_every_scale_and_a_given_parameter_goes_before_it() -> None:
    entry = DatasetEntry.of("two", TWO | {"sizes": {"smoke": {"rows": 10}}})
    assert [(d.world, d.params.get("rows")) for d in datasets(entry.in_worlds("all"), "smoke", 0)] == [
        ("", 10),
        ("many", 50),
    ]
    assert next(datasets(entry.changed({"world": "many", "rows": 7}), "smoke", 0)).params["rows"] == 7
    by_scale = {"smoke": {"rows": 1}, "laptop": {"rows": 2}, "paper": {"rows": 3}}
    worlds = TWO["worlds"] | {"many": {"says": "s", "set": by_scale}}  # type: ignore[operator]
    scaled = DatasetEntry.of("two", TWO | {"worlds": worlds, "world": "many"})
    assert [next(datasets(scaled, scale, 0)).params["rows"] for scale in SCALES] == [1, 2, 3]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["dataset=[checkin]", "dataset.checkin.world=pair"], "unknown world of checkin 'pair': did you mean 'pairs'?"),
        (["dataset=[equal_rows]", "dataset.equal_rows.world=pairs"], "has no effect: equal_rows has no worlds"),
        (["dataset=[checkin]", "world=pair"], "unknown world 'pair': did you mean 'pairs'?"),
        (["dataset=[equal_rows]", "world=pairs"], "unknown world 'pairs': expected one of: all, default"),
        (["dataset=[checkin]", "dataset.checkin.path=.", "dataset.checkin.world=pairs"], "read from files"),
        (["dataset=[checkin]", "dataset.checkin.path=.", "world=pairs"], "world=pairs has no effect: checkin is read"),
        (["dataset=[checkin]", "world=[pairs]"], "expected default, all, or the name of a world"),
    ],
)
def test_a_world_without_effect_is_refused(
    words: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", *words, "mechanism=[lpa]", "scale=smoke", "dry=true"]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("worlds", "problem"),
    [
        ([], "expected worlds by name"),
        ({"one": {}}, "expected `says` with a sentence"),
        ({"one": {"says": "a", "sets": {}}}, "unknown key in dataset.two.worlds.one: 'sets': did you mean 'set'?"),
        ({"one": {"says": "a", "set": {"rows": 3}}}, "expected one world without `set`, the default one: found none"),
        ({"one": {"says": "a"}, "two": {"says": "b"}}, "found one, two"),
        ({"one": {"says": "a"}, "two": {"says": "b", "set": {"smoke": {"rows": 3}}}}, "for each of smoke, laptop"),
        ({"one": {"says": "a", "constrained_by": "x"}}, "expected a list of claims"),
        ({"all": {"says": "a"}}, "'all' has a meaning of its own"),
        ({"one": {"says": "a"}, "two": {"says": "b", "set": {"rwos": 3}}}, "no parameter 'rwos': did you mean 'rows'?"),
    ],
)
def test_a_wrong_world_in_a_yaml_is_refused(worlds: object, problem: str) -> None:
    with pytest.raises(UserError, match=r".*") as caught:
        next(datasets(DatasetEntry.of("two", TWO | {"worlds": worlds}), "smoke", 0))
    assert problem in str(caught.value)


@pytest.mark.parametrize("name", WITH_WORLDS)
def test_our_worlds_are_complete(name: str) -> None:
    """Every world differs from the default at every scale, the YAML names the default, and constraints name claims."""
    from dpbench.claims.ledger import ledger

    entry = catalogue.dataset(name)
    assert entry.world == (entry.default_world,)
    claims = {claim.id for claim in ledger()}
    for world in entry.worlds.values():
        named = {number for number in world.constrained_by if "/" in number.split(" ")[0]}
        assert named <= claims, f"{world.name}: {named - claims} are no claims"
    for scale in SCALES:
        built = [repr(sorted(d.params.items())) for d in datasets(entry.in_worlds("all"), scale, 0)]
        assert len({*built}) == len(entry.worlds)


def test_a_run_in_two_worlds_says_so(dpbench, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    words = ["experiment=gs/fig9", "scale=smoke", "dataset=[checkin]", "mechanism=[lpa]", "epsilon=[1]", "trials=2"]
    done = dpbench("run", *words, "dataset.checkin.world=[checkins,pairs]", "tracking=none", "figure=false")
    assert done.returncode == 0, done.stderr
    run = Run.load(tmp_path / "results", "gs/fig9")
    trials = run.trials()
    assert trials[LABEL].fillna("").tolist() == ["", "", "pairs", "pairs"]
    assert one_world(trials)[LABEL].isna().all()
    assert one_world(trials[trials[LABEL] == "pairs"])[LABEL].tolist() == ["pairs", "pairs"]
    assert run.worlds == {"checkin": ("default", "pairs")}
    assert run.origins() == ["checkin: generated in the worlds default, pairs, seed 0"]
    assert not any("world" in change for change in run.changes), "the default world is there as it is defined"
    assert not run.altered, "each number still means what it does in the experiment, in the world of its label"
    assert any("stand-ins other than the default ones (checkin: default, pairs)" in note for note in run.remarks())


def test_the_default_world_has_the_key_it_had_before() -> None:
    """Worlds are parameters: nothing of them is in the key of a setting unless they change one."""
    labels = [Dataset("a", "equal_rows"), Dataset("a", "equal_rows", world="many")]
    assert origins(labels[:1]) == ["a: generated, seed 0"]
    assert origins(labels[1:]) == ["a: generated in the world many, seed 0"]
    frame = pd.DataFrame({"dataset": ["a"]})
    assert one_world(frame) is frame


def test_worlds_are_listed_and_completed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "datasets", "--json"]) == 0
    listed = {row["name"]: row["worlds"] for row in json.loads(capsys.readouterr().out)}
    assert listed["checkin"].split() == list(catalogue.dataset("checkin").worlds)
    assert listed["equal_rows"] == "-"
    assert candidates("dpbench run dataset.checkin.world=any") == ["dataset.checkin.world=any_order"]
    assert "world=all" in candidates("dpbench run world=")
    assert "dataset.checkin.world=" in candidates("dpbench run dataset.checkin.w")
