"""What the page says, without the page: privacy marks by name and parameters, where data came from, tables as data."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from markupsafe import escape

from dpbench.claims.ledger import ledger
from dpbench.model.claim import CONTRADICTED, REPRODUCED, UNTESTABLE
from dpbench.model.record import Record
from dpbench.model.run import UNSTATED, Dataset, Run, Setting, Variant
from dpbench.model.verdict import Evidence, Group, Verdict
from dpbench.report.answer import answers
from dpbench.report.datasets import UsedDataset
from dpbench.report.experiment import Experiment
from dpbench.report.gather import Facts
from dpbench.report.marks import IN_PART, NO_GUARANTEE, NOT_PRIVATE, Marks, MechanismUse, notes
from dpbench.report.page import page
from dpbench.report.papers import rank, title_of
from dpbench.report.pictures import Drawn
from dpbench.report.text import slug
from dpbench.report.view import PageView, also
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
    datasets = (Dataset("netflix", "x", kind="incidence", original=True), Dataset("kos", "y", seed=4, kind="incidence"))
    settings = tuple(Setting(d, Variant("lpa", "lpa"), 1.0, Variant("counts", "counts"), d.name) for d in datasets)
    facts = Experiment("gs/fig9", "t", "c", Run("gs/fig9", "paper", 1, 7, settings)).facts
    assert facts[-2:] == ("netflix: original files", "kos: generated, seed 4")
    assert facts[:-2] == ("scale paper", "2 settings", "1 trial per setting", "noise seed 7")


def test_what_was_not_run_is_shown_from_the_record() -> None:
    kept = Record("gs/fig9", "", "paper", 200, 0, (0, 1), 12, "id", "code", {}, ("netflix: generated, seeds 0 and 1",))
    recorded = Experiment("gs/fig9", "t", "c", record=kept, recorded="recorded at abc")
    assert recorded.facts[0] == "not run here: recorded at abc"
    assert "2 draws of the data" in recorded.facts
    missing = Experiment("gs/fig7", "t", "c")
    assert (recorded.missing, missing.missing) == (False, True)
    text = page(_facts([recorded, missing]))
    assert '<article id="exp-gs-fig9">' in text
    assert '<li id="exp-gs-fig7">' in text.partition("<h4>Not run yet</h4>")[2]


def _facts(experiments: list[Experiment], verdicts: list[Verdict] | None = None) -> Facts:
    datasets = [UsedDataset("netflix", Card("netflix"))]
    return Facts(experiments, verdicts or [], datasets, {}, {}, Path("results"), "")


def kept(experiment: str, trials: int = 1, origin: str = "netflix: original files") -> Experiment:
    found = Record(experiment, "", "paper", trials, 0, (0,), 1, "id", "code", {}, (origin,), written="2026-01-02T03:04")
    return Experiment(experiment, "t", "c", record=found, recorded="recorded at abc")


def test_a_record_of_one_trial_is_told_as_one() -> None:
    assert kept("gs/fig9").facts[2:4] == ("1 setting", "1 trial per setting")


def test_a_page_of_records_does_not_say_that_its_data_is_generated() -> None:
    view = PageView(_facts([kept("gs/fig9")]))
    assert "generated" not in view.data
    (row,) = view.runs.rows
    assert [cell.text for cell in row][-3:] == ["netflix: original files", "0", "2026-01-02 03:04"]


def test_many_claims_stand_below_their_picture() -> None:
    png = b"\0" * 16 + (100).to_bytes(4, "big") * 2
    for count, layout in ((3, ""), (20, "wide")):
        verdicts = [Verdict(claim, REPRODUCED) for claim in ledger()[:count]]
        experiment = dataclasses.replace(kept("gs/fig9"), verdicts=verdicts, pictures=[Drawn("", png, b"", ())])
        assert experiment.layout == layout


def test_many_claims_that_cannot_be_tested_are_collapsed() -> None:
    verdicts = [Verdict(claim, UNTESTABLE) for claim in ledger()[:4]]
    few, many = (dataclasses.replace(kept("gs/fig9"), verdicts=verdicts[:count]) for count in (3, 4))
    assert (few.listed_claims, few.folded_claims) == (verdicts[:3], [])
    assert (many.listed_claims, many.folded_claims) == ([], verdicts)


def test_a_claim_says_how_it_was_measured_and_on_what() -> None:
    claim = next(one for one in ledger() if one.measure and "<=" in one.expect)
    group = Group({}, 0.5, 0.4, 0.6, REPRODUCED)
    other = Verdict(claim, CONTRADICTED, decider=group, files=("movielens",))
    assert also(other) == f"also contradicted ({other.measured}, {other.interval}): original files of movielens"
    verdict = Verdict(claim, REPRODUCED, decider=group, scale="paper", others=(other,))
    row = (
        page(_facts([kept(claim.experiment)], [verdict]))
        .partition(f'<tr id="claim-{slug(claim.id)}"')[2]
        .partition("</tr>")[0]
    )
    assert f"measure: <code>{escape(claim.measure)}</code>" in row
    assert "generated data, paper size, one draw" in row
    assert also(other) in row
    assert "≤" in row


def test_what_is_the_users_own_comes_first() -> None:
    """Own claims, and figures of own experiments, stand before those of the papers."""
    found = sorted(["gs", "cross", "mine", "own", "sparse"], key=rank)
    assert found == ["own", "mine", "gs", "sparse", "cross"]
    claim = dataclasses.replace(ledger()[0], id="mine/one", paper="mine")
    verdicts = [Verdict(claim, REPRODUCED, evidence=Evidence.PROOF)]
    (answer,) = answers(verdicts)
    assert title_of(answer.paper) == "Your own experiments and claims"
    assert answer.sentences[0] == "1 claim holds with every assumption that was tried (1 by proof)."
    assert "mine" not in PageView(_facts([], verdicts)).papers, "there is no figure to link to"


def test_jinja_is_imported_only_to_write_a_report() -> None:
    code = "import sys, dpbench.cli.report; assert not {'jinja2', 'dpbench.report.page'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
