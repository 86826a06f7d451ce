"""Verdicts: regions, groups, what a run lacks, and what decides nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpbench.claims.cells import CellTrials
from dpbench.claims.judge import Judge
from dpbench.claims.verdicts import command, tally
from dpbench.errors import UserError
from dpbench.model.claim import BY_CONSTRUCTION, CONTRADICTED, OPEN, REPRODUCED, UNTESTABLE, Region
from dpbench.model.verdict import Evidence
from dpbench.paths import CONF

from support import runs, stores
from support.runs import run
from support.verdicts import LN2, RATIO, Stored, cell, claim, ratio_cells, run_of_fig9


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("< 1", -np.inf, 1),
        (">= 1e3", 1000, np.inf),
        ("= 17700", 17700, 17700),
        ("between 0.3 % and 6 %", 0.003, 0.06),
        ("about 73 % within 20 %", 0.584, 0.876),
        ("about 5 within 0.5", 4.5, 5.5),
        ("about 10 within a factor 2", 5, 20),
    ],
)
def test_regions(text: str, low: float, high: float) -> None:
    region = Region.parse(text)
    assert (region.low, region.high) == (pytest.approx(low), pytest.approx(high))


def test_numbers_are_shown_in_the_papers_unit() -> None:
    percent, plain = Region.parse("about 73 % within 20 %"), Region.parse("< 1")
    assert [percent.show(x) for x in (0.0073, 0.732, 31.874)] == ["0.73 %", "73.2 %", "3187 %"]
    assert [plain.show(x) for x in (0.0, 0.97514, 12345.6, 1.654e9, 2e-9, math.nan)] == [
        "0",
        "0.9751",
        "12,346",
        "1.65e9",
        "2.00e-9",
        "unknown",
    ]


@pytest.mark.parametrize("text", ["1", "around 3", "< one", "between 1", "about 1"])
def test_wrong_regions(text: str) -> None:
    with pytest.raises(UserError, match=r"is not valid|is no number"):
        Region.parse(text)


@pytest.mark.parametrize(
    ("ratio", "spread", "verdict"),
    [(0.5, 0.1, REPRODUCED), (2.0, 0.1, CONTRADICTED), (0.97, 0.5, OPEN), (1.03, 0.5, OPEN)],
)
def test_verdicts(ratio: float, spread: float, verdict: str) -> None:
    found = Stored(ratio_cells({"one": ratio}, spread)).verdict(claim(**RATIO))
    assert found.verdict == verdict
    assert found.decider is not None
    assert found.decider.low < ratio < found.decider.high
    assert found.trials == 120


def test_the_border_itself_is_outside() -> None:
    cells = [cell({"mechanism": "a"}, mae=[1, 1, 1])]
    cells[0].labels["dataset"] = "real"
    for expect, verdict in (("< 1", CONTRADICTED), ("> 1", CONTRADICTED), ("<= 1", REPRODUCED), ("= 1", REPRODUCED)):
        assert Stored(cells).verdict(claim(measure="mae()", expect=expect, certain=("mae",))).verdict == verdict


def test_each_is_decided_by_its_worst_group_and_some_by_its_best() -> None:
    judge = Stored(ratio_cells({"good": 0.2, "fair": 0.8, "bad": 1.5}, 0.05))
    each = judge.verdict(claim(each=("dataset",), **RATIO))
    some = judge.verdict(claim(some=("dataset",), **RATIO))
    assert (each.verdict, each.where) == (CONTRADICTED, "dataset=bad (1 such of 3)")
    assert (some.verdict, some.where) == (REPRODUCED, "dataset=good (best of 3)")
    fine = judge.verdict(claim(each=("dataset",), where={"dataset": ["good", "fair"]}, **RATIO))
    assert (fine.verdict, fine.where) == (REPRODUCED, "dataset=fair (closest of 2)")


def test_intervals_of_several_groups_hold_together() -> None:
    def width(datasets: int) -> float:
        cells = ratio_cells({f"d{i}": 0.5 for i in range(datasets)}, 0.3)
        group = Stored(cells).verdict(claim(each=("dataset",), **RATIO)).groups[0]
        return group.high - group.low

    assert width(12) > 1.3 * width(1)


def test_what_cannot_be_tested_says_why_and_what_to_run() -> None:
    judge = Stored(ratio_cells({"one": 0.5}, 0.1), scale="smoke")
    small = judge.verdict(claim(scale="paper", **RATIO))
    assert (small.verdict, small.reason) == (UNTESTABLE, "needs scale=paper, was run at smoke")
    assert command(small) == "python -m dpbench run experiment=x/fig scale=paper"
    assert command(replace(small, results=Path("elsewhere"))).endswith(" scale=paper results=elsewhere")
    other = judge.verdict(claim(experiment="x/other", **RATIO))
    assert (other.verdict, other.reason) == (UNTESTABLE, "x/other was not run")
    part = judge.verdict(claim(where={"dataset": "two"}, **RATIO))
    assert (part.verdict, part.reason) == (UNTESTABLE, "no trials of dataset=two")
    never = judge.verdict(claim(untestable="the figure is lost"))
    assert (never.verdict, never.reason, command(never)) == (UNTESTABLE, "the figure is lost", "")


def test_a_claim_about_the_original_files_is_not_tested_on_generated_data() -> None:
    judge = Stored(ratio_cells({"one": 0.5}, 0.1))
    assert judge.verdict(claim(original="real", **RATIO)).verdict == REPRODUCED
    made_up = judge.verdict(claim(original="one", **RATIO))
    assert made_up.verdict == UNTESTABLE
    assert "dataset.one.path=FOLDER" in made_up.reason


def test_runs_on_files_stand_beside_and_own_runs_decide_nothing(tmp_path: Path) -> None:
    """The newest run decides, but a claim about original files looks for the run that has them."""
    for name, original, day in (("gs/fig9", True, 1), ("gs/fig9", False, 2), ("mine", False, 3)):
        settings = [stores.setting(0, original=original)]
        made = stores.run(tmp_path, settings, name=name, written=f"2024-05-0{day}T10:00:00.000000+00:00")
        replace(made, experiment="gs/fig9").save()
    judge = Judge(tmp_path)
    assert {*judge.each} == {"gs/fig9", "gs/fig9+small", "mine"}
    assert {*judge.runs} == {"gs/fig9"}
    for original, label in (("", "gs/fig9"), ("small", "gs/fig9+small"), ("other", "gs/fig9")):
        decider = judge.run_for(claim(experiment="gs/fig9", original=original, **RATIO))
        assert decider is not None
        assert decider.label == label


def test_data_of_the_full_size_decide_at_a_smaller_scale() -> None:
    """Gowalla is as large at laptop scale as in the paper, Netflix is not; what is left out is reported, and decides nothing."""
    import yaml

    def judge(**ratios: float) -> Judge:
        found = Stored(ratio_cells(ratios, 0.05), scale="laptop")
        sizes = {n: yaml.safe_load((CONF / "dataset" / f"{n}.yaml").read_text())[n]["sizes"]["laptop"] for n in ratios}
        found.runs["x/fig"] = run("x/fig", [runs.dataset(name, size) for name, size in sizes.items()])
        return found

    each = claim(scale="paper", each=("dataset",), **RATIO)
    part = judge(gowalla=0.5, netflix=0.5).verdict(each)
    assert (part.verdict, len(part.groups)) == (OPEN, 1)
    assert part.reason == "reproduced where it could be tested; netflix: needs scale=paper"
    assert judge(gowalla=0.5, foursquare=0.5).verdict(each).verdict == REPRODUCED
    assert judge(gowalla=1.5, netflix=0.5).verdict(each).verdict == CONTRADICTED, "one is enough"
    some = claim(scale="paper", some=("dataset",), **RATIO)
    assert judge(gowalla=0.5, netflix=2).verdict(some).verdict == REPRODUCED, "one is enough"
    assert judge(gowalla=1.5, netflix=0.5).verdict(some).verdict == OPEN
    only = judge(netflix=0.5).verdict(each)
    assert (only.verdict, only.reason) == (UNTESTABLE, "needs scale=paper, was run at laptop")
    here = claim(scale="paper", where={"dataset": "gowalla"}, **RATIO)
    assert judge(gowalla=0.5, netflix=2).verdict(here).verdict == REPRODUCED


def test_a_run_of_some_datasets_does_not_decide_about_all() -> None:
    every = claim(experiment="gs/fig9", each=("dataset", "epsilon"), **RATIO)
    whole = dict.fromkeys(("checkin", "document", "netflix", "trajectory"), 0.5)
    assert run_of_fig9(whole).verdict(every).verdict == REPRODUCED
    part = run_of_fig9({"document": 0.5, "netflix": 0.5}).verdict(every)
    assert part.verdict == OPEN
    assert part.reason == (
        "reproduced where it could be tested; dataset=checkin: not in this run; dataset=trajectory: not in this run"
    )
    assert run_of_fig9({"document": 1.5}).verdict(every).verdict == CONTRADICTED, "one is enough"
    budgets = run_of_fig9(whole, (0.1, LN2)).verdict(every)
    assert budgets.reason == "reproduced where it could be tested; epsilon=ln3: not in this run"
    some = claim(experiment="gs/fig9", where={"dataset": ["document", "checkin"]}, some=("dataset", "epsilon"), **RATIO)
    assert run_of_fig9({"document": 0.5}).verdict(some).verdict == REPRODUCED, "one is enough"
    assert run_of_fig9({"document": 1.5}).verdict(some).verdict == OPEN


def test_what_a_user_added_to_a_run_is_not_of_the_paper() -> None:
    whole = dict.fromkeys(("checkin", "document", "netflix", "trajectory"), 0.5)
    judge = run_of_fig9({**whole, "kos": 2.0}, (0.1, LN2, float(np.log(3)), 5.0))
    found = judge.verdict(claim(experiment="gs/fig9", each=("dataset", "epsilon"), **RATIO))
    assert (found.verdict, len(found.groups)) == (REPRODUCED, 12)


def test_a_group_without_its_numbers_is_said() -> None:
    cells = [
        c for c in ratio_cells({"one": 0.5, "two": 0.5}, 0.1) if c.labels != {"dataset": "two", "mechanism": "lpa"}
    ]
    found = Stored(cells).verdict(claim(each=("dataset",), **RATIO))
    assert (found.verdict, len(found.groups)) == (OPEN, 1)
    assert found.reason == "reproduced where it could be tested; dataset=two: no trials of mechanism=lpa"


def test_cells_that_were_planned_and_have_no_trials_yet() -> None:
    """An interrupted run: a group that lacks a cell decides nothing, and neither does the best of some settings."""
    cells = ratio_cells({"one": 0.5, "two": 0.5}, 0.1)
    cells[-1] = CellTrials("absent", cells[-1].labels, {})
    found = Stored(cells).verdict(claim(each=("dataset",), **RATIO))
    assert (found.verdict, len(found.groups)) == (OPEN, 1)
    assert found.reason.endswith("dataset=two: planned, and no trial is stored yet")
    sizes = [
        cell({"mechanism": "sra", "mechanism.l": size}, mse=abs(size - 20) + np.linspace(1, 2, 20))
        for size in (10, 20, 30)
    ]
    best = claim(measure="argmin(mse(), over=l)", expect="= 20")
    assert Stored(sizes).verdict(best).verdict == REPRODUCED
    left = Stored([sizes[0], CellTrials("absent", sizes[1].labels, {}), sizes[2]]).verdict(best)
    assert (left.verdict, left.reason) == (UNTESTABLE, "planned, and no trial is stored yet")
    assert command(left) == "python -m dpbench run experiment=x/fig"
    parts = cells_of_parts()
    assert Stored(parts).verdict(claim(**PARTS)).verdict == REPRODUCED
    assert Stored([parts[0], CellTrials("absent", parts[1].labels, {})]).verdict(claim(**PARTS)).verdict == UNTESTABLE


PARTS = {"where": {"part": 0.1}, "measure": "argmin(abs_error(), over=theta)", "expect": "= 2"}


def cells_of_parts() -> list[CellTrials]:
    return [cell({"mechanism.theta": t, "part": 0.1}, abs_error=1 / t + np.linspace(0, 0.01, 120)) for t in (1, 2)]


def test_a_run_with_other_parameters_decides_nothing() -> None:
    judge = Stored(ratio_cells({"one": 2.0}, 0.1))
    assert judge.verdict(claim(**RATIO)).verdict == CONTRADICTED
    judge.runs["x/fig"] = replace(judge.runs["x/fig"], altered=("lpa: bound = 5 instead of default",))
    found = judge.verdict(claim(**RATIO))
    assert found.verdict == OPEN
    assert found.reason == "contradicted by a run that is not as defined (lpa: bound = 5 instead of default)"
    assert judge.unfinished("x/fig"), "claims --run brings the whole back"


def test_what_generated_data_are_fitted_to_is_said() -> None:
    cells = [cell({"dataset": name, "mechanism": "a"}, rows=[7]) for name in ("one", "real")]
    judge = Stored(cells)
    made = {"measure": "rows()", "expect": "= 7", "exact": True, "made": True}
    generated = judge.verdict(claim(where={"dataset": "one"}, **made))
    assert (generated.verdict, generated.reason) == (BY_CONSTRUCTION, "generated data was given this number")
    real = judge.verdict(claim(where={"dataset": "real"}, **made))
    assert (real.verdict, real.reason, real.evidence) == (REPRODUCED, "", Evidence.FILES)


def test_a_claim_tells_what_decides_it() -> None:
    assert claim(**RATIO).decided_by == "x/fig"
    assert claim(experiment="", measure="1 + 1", expect="= 2").decided_by == "arithmetic, nothing measured"
    assert claim(experiment="", untestable="lost").decided_by == ""


def test_one_trial_decides_only_what_holds_no_noise() -> None:
    judge = Stored(ratio_cells({"one": 0.5}, 0.0, trials=1))
    assert judge.verdict(claim(**RATIO)).verdict == OPEN
    assert judge.verdict(claim(exact=True, **RATIO)).verdict == REPRODUCED


def test_unfinished_runs_are_known() -> None:
    """Never run, without some dataset, interrupted, or whole."""
    judge = run_of_fig9(dict.fromkeys(("checkin", "document", "netflix", "trajectory"), 0.5))
    cells = judge.cells("gs/fig9")
    uses, labels = judge.runs["gs/fig9"].datasets.values(), [(c.id, c.labels) for c in cells]
    whole = judge.runs["gs/fig9"] = run("gs/fig9", uses, labels, scale="paper")
    assert judge.unfinished("gs/fig7"), "never run"
    assert not judge.unfinished("gs/fig9")
    judge.runs["gs/fig9"] = replace(whole, repetitions=121)
    assert judge.unfinished("gs/fig9"), "a trial is missing"
    judge.runs["gs/fig9"] = whole
    judge._cells["gs/fig9"] = cells[1:]
    assert judge.unfinished("gs/fig9"), "a setting is missing"
    judge._cells["gs/fig9"] = [c for c in cells if c.labels["dataset"] != "checkin"]
    left = tuple(s for s in whole.settings if s.dataset.name != "checkin")
    judge.runs["gs/fig9"] = replace(whole, settings=left)
    assert judge.unfinished("gs/fig9"), "a dataset of the experiment is missing"


def two_kinds_of_evidence(generated: float, files: float) -> Judge:
    """A run on generated data of two datasets, and one in which the second is read from files."""
    judge = Stored(ratio_cells({"one": generated, "two": generated}, 0.05))
    uses = [runs.dataset("one"), runs.dataset("two")]
    plain = run("x/fig", uses, scale="laptop")
    on_files = run("x/fig", [uses[0], runs.dataset("two", original=True)], scale="laptop")
    judge.runs = {"x/fig": plain}
    judge.each = {"x/fig": plain, "x/fig+two": on_files}
    judge._cells |= {on_files.label: ratio_cells({"one": generated, "two": files}, 0.05)}
    return judge


def test_generated_data_and_files_have_verdicts_of_their_own() -> None:
    """Files of all datasets of a claim decide it; files of some are shown beside."""
    judge = two_kinds_of_evidence(0.5, 2.0)
    every = judge.verdict(claim(each=("dataset",), **RATIO))
    assert (every.verdict, every.source) == (REPRODUCED, "generated data, laptop size, one draw")
    (beside,) = every.others
    assert (beside.verdict, beside.source, len(beside.groups)) == (CONTRADICTED, "original files of two", 1)
    assert beside.reason == "", "files are no generated data"
    only = judge.verdict(claim(each=("dataset",), where={"dataset": "two"}, **RATIO))
    assert (only.verdict, only.files) == (CONTRADICTED, ("two",))
    assert [other.verdict for other in only.others] == [REPRODUCED]
    one_number = judge.verdict(claim(where={"dataset": "two"}, **RATIO))
    assert (one_number.verdict, one_number.files) == (CONTRADICTED, ("two",)), "a claim of one group, too"


def test_generated_data_stand_beside_when_the_newest_run_is_on_files() -> None:
    judge = two_kinds_of_evidence(0.5, 2.0)
    plain, on_files = judge.each["x/fig"], judge.each["x/fig+two"]
    judge.runs = {"x/fig": on_files}
    generated, mixed = (ratio_cells({"one": 0.5, "two": ratio}, 0.05) for ratio in (0.5, 2.0))
    judge._cells_of = lambda run: generated if run is plain else mixed  # type: ignore[method-assign]
    found = judge.verdict(claim(each=("dataset",), **RATIO))
    assert [(v.verdict, v.source) for v in (found, *found.others)] == [
        (CONTRADICTED, "generated data, laptop size, one draw"),
        (CONTRADICTED, "original files of two"),
        (REPRODUCED, "generated data, laptop size, one draw"),
    ]


@pytest.mark.parametrize(("papers_own", "verdict"), [(True, CONTRADICTED), (False, REPRODUCED)])
def test_files_in_another_experiment_decide_when_they_are_the_papers_data(
    papers_own: bool, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample of other users under the same name stands beside; so do datasets that the paper does not have."""
    monkeypatch.setattr("dpbench.claims.judge.of_the_papers", lambda name: papers_own)
    judge = two_kinds_of_evidence(0.5, 0.5)
    panel = run("x/real", [runs.dataset(name, original=True) for name in ("two", "more")], scale="laptop")
    judge.each = {"x/fig": judge.each["x/fig"], panel.label: panel}
    judge._cells[panel.label] = ratio_cells({"two": 2.0, "more": 3.0}, 0.05)
    asked = {"where": {"dataset": "two"}, "also": ("x/real",), **RATIO}
    found = judge.verdict(claim(**asked))
    assert (found.verdict, found.files) == (verdict, ("two",) if papers_own else ())
    assert {other.verdict for other in found.others} == {REPRODUCED, CONTRADICTED} - {verdict}
    wider = judge.verdict(claim(**{**asked, "each": ("dataset",), "also_where": {"dataset": ["two", "more"]}}))
    (beside,) = [v for v in (wider, *wider.others) if v.files]
    assert beside.files == ("more", "two")
    assert len(beside.groups) == 2
    assert wider.files == (), "other datasets are with it"
    left_open = judge.verdict(claim(each=("dataset",), also=("x/real",), **RATIO))
    assert left_open.files == (), "it is about the datasets of its own experiment"
    with pytest.raises(UserError, match="also_where has no effect without `also`"):
        claim(also_where={"dataset": "two"}, **RATIO)


def test_a_verdict_says_what_it_rests_on() -> None:
    judge = two_kinds_of_evidence(2.0, 0.5)
    found = judge.verdict(claim(each=("dataset",), **RATIO))
    assert (found.verdict, found.evidence) == (CONTRADICTED, Evidence.STAND_IN)
    assert [other.evidence for other in found.others] == [Evidence.FILES]
    assert judge.verdict(claim(experiment="", measure="1 + 1", expect="= 2")).evidence is Evidence.PROOF
    assert judge.verdict(claim(experiment="x/other", **RATIO)).evidence is None


def test_copies_are_not_counted_and_the_error_rate_is_stated() -> None:
    judge = Stored(ratio_cells({"one": 0.5}, 0.1))
    clear, copy = (judge.verdict(claim(**RATIO, copy_of=name)) for name in ("", "x/c"))
    close = judge.verdict(claim(measure=RATIO["measure"], expect="< 0.511"))
    sure = judge.verdict(claim(experiment="", measure="1 + 1", expect="= 2"))
    assert (clear.error, sure.error) == (0.0005, 0)
    assert close.error > 0.001, "it does not stay the same at 99.9 %"
    found = tally([clear, copy, close, sure])
    assert (found.claims, found.repeats, found.noisy, found.firm) == (3, 1, 3, 2)
