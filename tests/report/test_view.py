"""What the page says, without the page: privacy marks by name and parameters, where data came from, tables as data."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from dpbench.claims.ledger import CONTRADICTED, REPRODUCED, ledger
from dpbench.claims.verdicts import Group, Verdict
from dpbench.report.gather import Dataset, Experiment, Facts, rank
from dpbench.report.marks import IN_PART, NO_GUARANTEE, NOT_PRIVATE, Marks, notes
from dpbench.report.runs import MechanismUse, RunFacts
from dpbench.report.view import page_view
from dpbench.report.view_answer import answers
from dpbench.report.view_claims import claim_view
from dpbench.report.view_experiments import Download, ExperimentView, Picture, paper_view
from dpbench.results.record import Record
from dpbench.results.run import UNSTATED, DatasetUse
from dpbench.sources.cards import Card

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
    run = RunFacts("gs/fig9", "", "paper", "1", "1 trial per setting", 7, 1, "", datasets, (), ())
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


def kept(experiment: str, trials: int = 1, origin: str = "netflix: original files") -> Experiment:
    found = Record(experiment, "", "paper", trials, 0, (0,), 1, "id", "code", {}, (origin,), written="2026-01-02T03:04")
    return Experiment(experiment, "t", "c", kept=found, recorded="recorded at abc")


def test_a_record_of_one_trial_is_told_as_one() -> None:
    (view,) = paper_view("gs", [kept("gs/fig9")]).done
    assert view.facts[2:4] == ("1 setting", "1 trial per setting")


def test_a_page_of_records_does_not_say_that_its_data_is_generated() -> None:
    view = page_view(Facts([kept("gs/fig9")], [], [Dataset("netflix", Card("netflix"))], [], {}, Path("results"), ""))
    assert "generated" not in view.header.data
    (row,) = view.environment.runs.rows
    assert [cell.text for cell in row.cells][-3:] == ["netflix: original files", "0", "2026-01-02 03:04"]


def test_many_claims_stand_below_their_picture() -> None:
    few, many = (_placed_claims(count) for count in (3, 20))
    assert few.layout == ""
    assert many.layout == "wide"


def _placed_claims(count: int) -> ExperimentView:
    verdicts = [Verdict(claim, REPRODUCED) for claim in ledger()[:count]]
    picture = Picture("alt", "", 100, 100, "[]", Download("a.pdf", "PDF", ""))
    (view,) = paper_view("gs", [dataclasses.replace(kept("gs/fig9"), verdicts=verdicts)]).done
    return dataclasses.replace(view, pictures=(picture,))


def test_a_claim_says_how_it_was_measured_and_on_what() -> None:
    claim = next(one for one in ledger() if one.measure and "<=" in one.expect)
    group = Group({}, 0.5, 0.4, 0.6, REPRODUCED)
    other = Verdict(claim, CONTRADICTED, decider=group, files=("movielens",))
    view = claim_view(Verdict(claim, REPRODUCED, decider=group, scale="paper", others=(other,)))
    assert view.measure == claim.measure
    assert view.source == "generated data, paper size, one draw"
    assert view.also == (f"also contradicted ({other.measured}, {other.interval}): original files of movielens",)
    assert view.expects.startswith("≤")


def test_what_is_the_users_own_comes_first() -> None:
    """Own claims, and figures of own experiments, stand before those of the papers."""
    found = sorted(["gs", "cross", "mine", "own", "sparse"], key=rank)
    assert found == ["own", "mine", "gs", "sparse", "cross"]
    claim = dataclasses.replace(ledger()[0], id="mine/one", paper="mine")
    facts = Facts([], [Verdict(claim, REPRODUCED)], [], [], {}, Path("results"), "")
    (answer,) = answers(facts)
    assert (answer.title, answer.counts) == (
        "Your own experiments and claims",
        "Of 1 claim that was tested, 1 holds and 0 do not.",
    )
    assert "mine" not in page_view(facts).linked, "there is no figure to link to"


def test_jinja_is_imported_only_to_write_a_report() -> None:
    code = "import sys, dpbench.cli.report; assert not {'jinja2', 'dpbench.report.page'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
