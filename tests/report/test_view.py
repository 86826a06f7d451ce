"""What the page says, without the page: privacy marks by name and parameters, where data came from, tables as data."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpbench.report.gather import Experiment
from dpbench.report.marks import IN_PART, NO_GUARANTEE, NOT_PRIVATE, Marks, notes
from dpbench.report.runs import MechanismUse, RunFacts
from dpbench.report.view_experiments import paper_view
from dpbench.results.record import Record
from dpbench.results.run import UNSTATED, DatasetUse

from support.paths import ROOT

GS = MechanismUse("gs", {}, "ε", "looks at the data")
MEAN = MechanismUse("gs_mean", {}, "ε", "")
OPEN = MechanismUse("lpa", {"bound": None}, "ε", "no bound")
BOUND = MechanismUse("lpa", {"bound": 50}, "ε", "")
MINE = MechanismUse("mine.Rounded", {}, UNSTATED, "")
GAUSSIAN = MechanismUse("gaussian", {}, "(ε, δ)", "")


@pytest.mark.parametrize(
    ("row", "mark"),
    [
        ({"mechanism": "gs"}, NOT_PRIVATE),
        ({"mechanism": "GS"}, NOT_PRIVATE),
        ({"series": "GS, dyadic"}, NOT_PRIVATE),
        ({"mechanism": "GS (trivial)"}, NOT_PRIVATE),
        ({"mechanism": "GS (mean row)"}, None),
        ({"mechanism": "GS-S"}, None),
        ({"mechanism": "lpa"}, IN_PART),
        ({"mechanism": "lpa", "mechanism.bound": 50.0}, None),
        ({"mechanism": "lpa", "mechanism.bound": None}, NOT_PRIVATE),
        ({"mechanism": "lpa", "bound": 0.123}, IN_PART),  # a metric of that name says nothing about the parameter
        ({"mechanism": "mine.Rounded"}, NO_GUARANTEE),
        ({"mechanism": "gaussian"}, None),
        ({"dataset": "gs"}, None),
        ({"mechanism": 3.0}, None),
    ],
)
def test_a_mark_goes_by_name_and_parameters(row: dict[str, object], mark: str | None) -> None:
    found = Marks([GS, MEAN, OPEN, BOUND, MINE, GAUSSIAN]).cell(next(iter(row)), row)
    assert (found.text if found else None) == mark


def test_heads_and_unknown_names_are_marked_too() -> None:
    """A column for each mechanism; and where a run has one mechanism, any series of it is that one."""
    marks = Marks([GS])
    head = marks.head("gs")
    assert head is not None
    assert head.reason == "looks at the data"
    assert marks.head("mae") is None
    series = marks.cell("series", {"series": "One-sided"})
    assert series is not None
    assert Marks([GS, MEAN]).cell("series", {"series": "One-sided"}) is None


def test_the_facts_name_the_reasons() -> None:
    private, unknown, weaker = notes([GS, MEAN, OPEN, BOUND, MINE, GAUSSIAN])
    assert private.what == "not private as run"
    assert private.groups == ((("gs",), "looks at the data"), (("lpa in some settings",), "no bound"))
    assert (unknown.what, unknown.groups, unknown.warn) == (NO_GUARANTEE, ((("mine.Rounded",), ""),), True)
    assert (weaker.what, weaker.groups, weaker.warn) == ("weaker guarantee (ε, δ)", ((("gaussian",), ""),), False)
    assert notes([MEAN, BOUND]) == []


def test_original_files_are_told_from_generated_data() -> None:
    datasets = (DatasetUse("netflix", "incidence", "x", original=True), DatasetUse("kos", "incidence", "y", seed=4))
    run = RunFacts("gs/fig9", "", "paper", 1, 7, 1, "", datasets, (), ())
    (view,) = paper_view("gs", [Experiment("gs/fig9", "t", "c", run)]).done
    facts = view.facts
    assert facts[-2:] == ("netflix: original files", "kos: generated, seed 4")
    assert facts[:-2] == ("scale paper", "1 setting", "1 trial per setting", "noise seed 7")


def test_what_was_not_run_is_shown_from_the_record() -> None:
    kept = Record("gs/fig9", "", "paper", 200, 0, (0, 1), 12, "id", "code", {}, ("netflix: generated, seeds 0 and 1",))
    experiment = Experiment("gs/fig9", "t", "c", kept=kept, recorded="recorded at abc")
    paper = paper_view("gs", [experiment, Experiment("gs/fig7", "t", "c")])
    (view,) = paper.done
    assert view.facts[0] == "not run here: recorded at abc"
    assert "2 draws of the data" in view.facts
    assert [missing.id for missing in paper.missing] == ["gs/fig7"]


def test_jinja_is_imported_only_to_write_a_report() -> None:
    code = "import sys, dpbench.cli.report; assert not {'jinja2', 'dpbench.report.page'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
