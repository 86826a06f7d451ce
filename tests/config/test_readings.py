"""Readings: what their files may hold, which settings `reading=` plans, and which stored setting belongs to which reading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench import documents
from dpbench.config import catalogue, entries
from dpbench.config.compose import compose
from dpbench.config.readings import of_experiment, papers, parsed, readings
from dpbench.engine.plan import make_plan
from dpbench.errors import UserError
from dpbench.model.reading import AdmissibleValue, PaperReadings, Unknown
from dpbench.model.setting import Setting

QUICK = {"tracking": "none", "figure": False, "dry": True, "dataset": ["netflix"]}

PAPER = PaperReadings(
    "p",
    (
        Unknown("a", "?", "x", (AdmissibleValue("x", "?"), AdmissibleValue("y", "?", {"mechanism.gs.w": 5}))),
        Unknown(
            "b",
            "?",
            "u",
            (
                AdmissibleValue("u", "?"),
                AdmissibleValue("v", "?", {"mechanism.fpa.rho": 1}),
                AdmissibleValue("w", "?", {"mechanism.fpa.rho": 2, "dataset.netflix.world": "light"}),
            ),
        ),
    ),
    {"both": {"a": "y", "b": "v"}},
)


def settings(experiment: str, **overrides: object) -> tuple[Setting, ...]:
    return make_plan(compose(experiment, "smoke", {**QUICK, **overrides})).run.settings  # type: ignore[arg-type]


# Which setting belongs to which reading.


def test_every_combination_belongs_to_the_readings_that_choose_it() -> None:
    """Enumerated: a setting fits a reading exactly if it has the parameters that applying the reading gives."""
    names = [*PAPER.names, "a.y+b.w"]
    assert names == ["default", "a.y", "b.v", "b.w", "both", "a.y+b.w"]
    for dataset in ("netflix", "other"):
        for mechanism in ("gs", "fpa", "lpa"):
            applied = {}
            for name in names:
                labels = {"dataset": dataset, "mechanism": mechanism, "epsilon": 1.0}
                for path, value in PAPER.named(name).sets.items():
                    group, entry, parameter = path.split(".")
                    labels |= {f"{group}.{parameter}": value} if labels[group] == entry else {}
                applied[name] = labels
            for name in names:
                for other, labels in applied.items():
                    assert PAPER.named(name).fits(labels) == (labels == applied[name]), (name, other, labels)


def test_a_missing_label_is_the_default_and_nan_is_missing() -> None:
    default, one = PAPER.named("default"), PAPER.named("b.v")
    assert default.fits({"mechanism": "fpa", "mechanism.rho": float("nan")})
    assert not one.fits({"mechanism": "fpa", "mechanism.rho": None})
    assert one.fits({"mechanism": "fpa", "mechanism.rho": 1.0})  # a column of a frame holds floats
    assert not one.fits({"mechanism": "fpa", "mechanism.rho": True})
    assert default.fits({"mechanism": "fpa", "mechanism.rho": 7})  # an axis of the experiment
    assert one.touches({"mechanism": "fpa"})
    assert not one.touches({"mechanism": "gs"})


def test_an_unknown_may_be_open_in_some_experiments_only() -> None:
    known = of_experiment("sparse/ranges_small")
    assert "mechanism.filter_priority.theta" in known.paths
    assert "mechanism.filter_priority.theta" not in of_experiment("sparse/dyadic_uniform").paths


def test_a_grid_combines_everything() -> None:
    grid = PaperReadings("p", PAPER.unknowns, {}, (("a", "b"),))
    assert grid.names == ["default", "a.y", "b.v", "b.w", "a.y+b.v", "a.y+b.w"]


# The files.


@pytest.mark.parametrize("paper", papers())
def test_our_files_name_parameters_that_exist(paper: str) -> None:
    known = readings(paper)
    assert known.unknowns
    for path in known.paths:
        if path == "epsilon":
            continue
        group, name, parameter = path.split(".")
        if group == "dataset":
            assert name in catalogue.options("dataset")
            continue
        valid = entries.REGISTRIES[group].parameters(getattr(catalogue, group)(name).cls)
        assert valid is None or parameter in valid, path
    for reading in known.all():
        assert reading.fits({}) or "epsilon" in reading.sets


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: {sais: x}", 1, "unknown key of a 'sais': did you mean 'says'?"),
        ("a: {says: x, default: d, values: {d: {because: y}}}", 1, "at least two"),
        (
            "a:\n  says: x\n  default: c\n  values:\n    d: {because: y}\n    e: {because: z, set: {epsilon: 2}}\n",
            3,
            "default of a 'c'",
        ),
        ("a:\n  says: x\n  default: d\n  values:\n    d: {because: y}\n    e: {because: z}\n", 6, "a.e sets nothing"),
        (
            "a:\n  says: x\n  default: d\n  values:\n    d: {because: y, set: {mechanism.gs.w: 3}}\n"
            "    e: {because: z, set: {mechanism.gs.w: 4}}\n",
            5,
            "sets nothing",
        ),
        (
            "a:\n  says: x\n  default: d\n  values:\n    d: {because: y}\n    e: {because: z, set: {mechanisms.gs.w: 4}}\n",
            6,
            "did you mean 'mechanism'?",
        ),
        (
            "a:\n  says: x\n  default: d\n  values:\n    d: {because: y}\n    e: {because: z, set: {mechanism.gs.w: [4]}}\n",
            6,
            "expected one value",
        ),
        (
            "a:\n  says: x\n  default: d\n  values:\n    d: {because: y}\n    e: {because: z, set: {epsilon: 2}}\n"
            "joint:\n  j: {a: f}\n",
            8,
            "unknown value of a 'f'",
        ),
        ("a: 3", 1, "expected keys and values"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    document = documents.parse(tmp_path / "p.yaml", text)
    with pytest.raises(UserError, match=f"p.yaml, line {line}: .*") as error:
        parsed("p", document)
    assert message in str(error.value)


# Runs.


def test_default_is_what_it_was() -> None:
    assert settings("gs/fig9", reading="default") == settings("gs/fig9")


def test_one_reading_takes_the_place_of_the_default() -> None:
    plain = settings("gs/fig9", mechanism=["lpa", "fpa", "gs"])
    read = settings("gs/fig9", mechanism=["lpa", "fpa", "gs"], reading="fpa_rho.one")
    assert len(read) == len(plain)
    assert [s.key for s in read if s.mechanism.name != "fpa"] == [s.key for s in plain if s.mechanism.name != "fpa"]
    assert all(s.mechanism.params == {"rho": 1} for s in read if s.mechanism.name == "fpa")


def test_all_shares_what_readings_do_not_touch() -> None:
    plan = make_plan(compose("gs/fig9", "smoke", {**QUICK, "mechanism": ["lpa", "fpa", "gs"], "reading": "all"}))
    known = of_experiment("gs/fig9")
    labels = [setting.labels() for setting in plan.run.settings]
    assert len({repr(label) for label in labels}) == len(labels)  # none is planned twice
    assert [s.key for s in plan.run.own.settings] == [
        s.key for s in settings("gs/fig9", mechanism=["lpa", "fpa", "gs"])
    ]
    assert not plan.run.altered
    for reading in known.all():
        mine = [label for label in labels if reading.fits(label)]
        assert len(mine) == 9, reading.name  # three mechanisms, three budgets
    assert all(any(reading.fits(label) for reading in known.all()) for label in labels)


def test_an_axis_is_not_changed_by_a_reading(tmp_path: Path) -> None:
    folder = tmp_path / "experiment" / "gs"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /dataset: [netflix]\n  - override /mechanism: [fpa, gs]\n"
        "  - override /task: [column_counts]\ntitle: t\nepsilon: [1]\nmechanism:\n  gs: {scale_up: [2, 3]}\n"
    )
    known = of_experiment("gs/mine", tmp_path)
    assert "mechanism.gs.scale_up" not in known.paths
    assert "mechanism.fpa.rho" in known.paths
    config = compose("gs/mine", "smoke", {**QUICK, "reading": "all"}, [tmp_path])
    assert {len([m for m in parts.mechanisms if m.name == "gs"]) for parts in config.parts} == {2}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["experiment=gs/fig9", "reading=fpa_rho.on"], "unknown value of fpa_rho 'on': did you mean 'one'?"),
        (["experiment=gs/fig9", "reading=fpa"], "unknown reading of gs 'fpa'"),
        (["experiment=gs/fig7", "reading=fpa_rho.one"], "reading=fpa_rho.one has no effect"),
        (["experiment=gs/fig9", "mechanism.fpa.rho=3", "reading=fpa_rho.one"], "has no effect"),
        (["dataset=[netflix]", "mechanism=[fpa]", "reading=fpa_rho.one"], "reading=gs/fpa_rho.one"),
        (["experiment=gs/fig9", "reading=[a,b]"], "reading=['a', 'b'] is not valid"),
    ],
)
def test_a_reading_without_effect_is_wrong_use(dpbench: Callable, words: list[str], message: str) -> None:
    done = dpbench("run", *words, "scale=smoke", "dry=true")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_the_figure_of_an_experiment_shows_the_default_reading(dpbench: Callable, tmp_path: Path) -> None:
    words = ("experiment=gs/fig9", "scale=smoke", "tracking=none", "trials=2", "runner.jobs=1", "dataset=[trajectory]")
    for reading in ("default", "all"):
        done = dpbench("run", *words, f"reading={reading}", f"results={reading}")
        assert done.returncode == 0, done.stderr
    default, every = ((tmp_path / name / "figures/gs/fig9.csv").read_text() for name in ("default", "all"))
    assert every == default


def test_list_readings_shows_every_value(dpbench: Callable) -> None:
    done = dpbench("list", "readings", "--json")
    assert done.returncode == 0
    for paper in papers():
        assert all(f'"{name}"' in done.stdout for name in readings(paper).names[1:] if "+" not in name)
