"""One verdict over readings and worlds, and what cannot change a count: own hypotheses, copies, fitted data, absurd borders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpbench.claims import cases
from dpbench.claims.cells import CellTrials
from dpbench.claims.decide import ERRORS
from dpbench.claims.verdicts import tally
from dpbench.model.claim import (
    BY_CONSTRUCTION,
    CONTRADICTED,
    ON_BOTH,
    ON_DATA,
    ON_READING,
    OPEN,
    REPRODUCED,
    Claim,
)
from dpbench.model.reading import AdmissibleValue, PaperReadings, Unknown
from dpbench.model.verdict import Evidence, Verdict
from dpbench.model.world import World

from support.verdicts import RATIO, Stored, cell, claim

READINGS = PaperReadings(
    "x",
    (
        Unknown(
            "factor",
            "it is scaled up",
            "delta",
            (AdmissibleValue("delta", "printed"), AdmissibleValue("mean", "or so", {"mechanism.gs.scale_up": "mean"})),
        ),
    ),
)
WORLDS = {
    "plain": World("plain", "as printed"),
    "heavy": World("heavy", "with a heavier tail", parameters={"paper": {"tail": 2}}),
}


@pytest.fixture(autouse=True)
def open_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dataset `one` has two worlds, and the factor of gs two readings."""
    monkeypatch.setattr(cases, "readings_of", lambda experiment: READINGS)
    monkeypatch.setattr(cases, "worlds_of", lambda dataset: WORLDS if dataset == "one" else {})


def cells(table: dict[tuple[str, str], float], spread: float = 0.01, trials: int = 60) -> list[CellTrials]:
    """The error of gs by reading and world, over an error of 1 of lpa in every world."""
    noise = 1 + np.linspace(-1, 1, trials) * spread
    found = []
    for (reading, world), ratio in table.items():
        labels = {"dataset": "one"} | ({"dataset.world": world} if world != "plain" else {})
        scaled = {"mechanism.scale_up": reading} if reading != "delta" else {}
        found.append(cell({**labels, "mechanism": "gs", **scaled}, mae=ratio * noise))
    for world in dict.fromkeys(world for _, world in table):
        labels = {"dataset": "one"} | ({"dataset.world": world} if world != "plain" else {})
        found.append(cell({**labels, "mechanism": "lpa"}, mae=noise))
    return found


def judged(table: dict[tuple[str, str], float], **given: object) -> Verdict:
    return Stored(cells(table)).verdict(claim(**{**RATIO, **given}))


def grid(*ratios: float) -> dict[tuple[str, str], float]:
    """delta plain, delta heavy, mean plain, mean heavy."""
    names = [("delta", "plain"), ("delta", "heavy"), ("mean", "plain"), ("mean", "heavy")]
    return dict(zip(names, ratios, strict=True))


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((0.5, 0.6, 0.7, 0.8), REPRODUCED),
        ((1.5, 1.6, 1.7, 1.8), CONTRADICTED),
        ((0.5, 0.5, 1.5, 1.5), ON_READING),
        ((0.5, 1.5, 0.5, 1.5), ON_DATA),
        ((0.5, 1.5, 1.5, 1.5), ON_BOTH),
        ((0.5, 1.5, 1.5, 0.5), ON_BOTH),
        ((0.5, 0.5, 0.5, 1.001), OPEN),
        ((1.5, 1.5, 1.5, 1.001), OPEN),
    ],
)
def test_a_comparison_holds_in_all_in_some_or_in_no_case(ratios: tuple[float, ...], verdict: str) -> None:
    found = judged(grid(*ratios))
    assert found.verdict == verdict
    assert [(case.reading, case.world) for case in found.cases] == [
        ("default", "default"),
        ("default", "one: heavy"),
        ("factor.mean", "default"),
        ("factor.mean", "one: heavy"),
    ]
    assert [round(case.value or 0, 3) for case in found.cases] == list(ratios)
    assert found.evidence is Evidence.WORLDS


def test_what_was_not_run_is_said() -> None:
    found = judged({("delta", "plain"): 0.5})
    assert (found.verdict, found.evidence, found.untried) == (REPRODUCED, Evidence.STAND_IN, ("factor.mean",))
    both = judged({("delta", "plain"): 0.5, ("delta", "heavy"): 0.5})
    assert (both.evidence, both.untried) == (Evidence.WORLDS, ("factor.mean",))
    read = judged({("delta", "plain"): 0.5, ("mean", "plain"): 1.5})
    assert (read.verdict, read.evidence, read.untried) == (ON_READING, Evidence.STAND_IN, ())


def test_a_reading_that_changes_nothing_of_a_claim_is_no_case() -> None:
    table = grid(0.5, 0.5, 1.5, 1.5)
    found = Stored(cells(table)).verdict(claim(measure="mae(mechanism=lpa)", expect="< 2"))
    assert (found.verdict, len(found.cases)) == (REPRODUCED, 2)


NUMBER = {"expect": "about 0.7 within 0.01"}


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ({("delta", "plain"): 0.7}, REPRODUCED),
        ({("delta", "plain"): 0.6}, OPEN),
        ({("delta", "plain"): 0.6, ("delta", "heavy"): 0.8}, REPRODUCED),
        ({("delta", "plain"): 0.7, ("delta", "heavy"): 0.8}, REPRODUCED),
        ({("delta", "plain"): 0.6, ("delta", "heavy"): 0.65}, CONTRADICTED),
        (grid(0.6, 0.65, 0.6, 0.8), ON_READING),
        (grid(0.6, 0.65, 0.5, 0.6), CONTRADICTED),
    ],
)
def test_a_printed_number_is_judged_over_the_range_of_the_worlds(
    ratios: dict[tuple[str, str], float], verdict: str
) -> None:
    """One stand-in that misses it decides nothing: how far worlds differ is not known from one."""
    assert judged(ratios, **NUMBER).verdict == verdict


def test_wide_intervals_do_not_reproduce_a_printed_number() -> None:
    """The range is what the worlds certainly span: noise does not widen it."""
    noisy = cells({("delta", "plain"): 0.6, ("delta", "heavy"): 0.69}, spread=0.5)
    assert Stored(noisy).verdict(claim(**{**RATIO, **NUMBER})).verdict == OPEN


def test_too_few_trials_are_open_with_the_number_that_is_needed() -> None:
    few = Stored(cells({("delta", "plain"): 0.5}, trials=19)).verdict(claim(**RATIO))
    assert (few.verdict, few.needs) == (OPEN, 20)
    assert few.reason.startswith("too few trials: 19")
    wide = Stored(cells({("delta", "plain"): 0.9}, spread=0.5)).verdict(claim(**RATIO))
    assert wide.verdict == OPEN
    assert wide.needs is not None
    enough = Stored(cells({("delta", "plain"): 0.9}, spread=0.5, trials=wide.needs)).verdict(claim(**RATIO))
    assert enough.verdict == REPRODUCED, "what it says is needed is enough"


def test_many_cases_that_disagree_by_chance_are_open() -> None:
    """Near a border, one of many cases crosses it by chance: both sides must be firm."""
    found = judged(grid(0.5, 0.5, 0.5, 1.0018))
    assert {case.verdict for case in found.cases} == {REPRODUCED, OPEN}
    assert found.verdict == OPEN


def test_many_cases_that_disagree_are_firm_together() -> None:
    """30 of 90 cases need not each have an error of 0.05 / 90: that so many of them are wrong is as unlikely."""

    def word(holds: int, fails: int, error: float) -> str:
        one = Verdict(claim(**RATIO), REPRODUCED, error=error)
        verdicts = [one] * holds + [replace(one, verdict=CONTRADICTED)] * fails
        return cases._word({(str(number), "default"): verdict for number, verdict in enumerate(verdicts)})[0]

    assert word(60, 30, 0.01) == ON_READING
    assert word(60, 30, 0.05) == OPEN
    assert word(88, 2, 0.001) == ON_READING
    assert word(89, 1, 0.001) == OPEN
    assert word(49, 1, 0.001) == ON_READING


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9])
def test_cases_that_all_hold_seem_to_disagree_once_in_twenty(shared: float) -> None:
    """4,000 times 90 cases that all hold. Their errors share a part, as those of cases that share trials do."""
    draws = np.random.default_rng(1)
    common, own = draws.standard_normal((4000, 1)), draws.standard_normal((4000, 90))
    chances = stats.norm.sf(np.sqrt(shared) * common + np.sqrt(1 - shared) * own)
    holds = Verdict(claim(**RATIO), REPRODUCED)
    fails = {error: replace(holds, verdict=CONTRADICTED, error=error) for error in ERRORS}
    alarms = 0
    for row in chances:
        found = dict.fromkeys(((str(number), "default") for number in range(90)), holds)
        for number in np.flatnonzero(row <= max(ERRORS)):
            error = min(
                error for error in ERRORS if row[number] <= error
            )  # verdicts know their errors in these steps only
            found[str(number), "default"] = fails[error]
        alarms += bool(cases._firm(found, CONTRADICTED))
    assert alarms / len(chances) < 0.061, "0.05 and three standard errors"
    assert alarms / len(chances) > 0.01, "it is not far stricter than stated"


# Faults that were planted once: none of them changes a count.


def counts(*claims: Claim, ratio: float = 0.5) -> dict[str, int]:
    judge = Stored(cells(grid(*[ratio] * 4)))
    found = tally([judge.verdict(c) for c in claims])
    return {verdict: count for verdict, count in found.counts.items() if count}


def test_an_own_hypothesis_a_copy_and_the_same_fact_are_not_counted() -> None:
    stated = claim(**RATIO)
    assert counts(stated) == {REPRODUCED: 1}
    for other in ({"ours": True}, {"copy_of": "x/c"}, {"same_as": "x/c"}):
        assert counts(stated, claim(id="x/d", **other, **RATIO)) == {REPRODUCED: 1}
        assert counts(stated, claim(id="x/d", **other, **{**RATIO, "expect": "> 9"})) == {REPRODUCED: 1}
    assert counts(stated, claim(id="x/d", **RATIO)) == {REPRODUCED: 2}, "otherwise it is"


def test_an_erratum_is_counted_apart() -> None:
    wrong = claim(id="x/d", basis="erratum", **{**RATIO, "expect": "> 9"})
    assert counts(claim(**RATIO), wrong) == {REPRODUCED: 1}
    found = tally([Stored(cells(grid(0.5, 0.5, 0.5, 0.5))).verdict(wrong)])
    assert found.errata == {CONTRADICTED: 1}


@pytest.mark.parametrize("ratio", [0.5, 1.5])
def test_data_that_was_fitted_neither_reproduces_nor_contradicts(ratio: float, monkeypatch: pytest.MonkeyPatch) -> None:
    assert counts(claim(made=True, **RATIO), ratio=ratio) == {BY_CONSTRUCTION: 1}
    told = {name: replace(world, constrained_by=("x/c",)) for name, world in WORLDS.items()}
    monkeypatch.setattr(cases, "worlds_of", lambda dataset: told)
    assert counts(claim(**RATIO), ratio=ratio) == {BY_CONSTRUCTION: 1}
    assert counts(claim(id="x/other", **RATIO), ratio=ratio) == {REPRODUCED if ratio < 1 else CONTRADICTED: 1}


def test_a_world_that_was_fitted_leaves_the_others_to_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {**WORLDS, "heavy": replace(WORLDS["heavy"], constrained_by=("x/c",))}
    monkeypatch.setattr(cases, "worlds_of", lambda dataset: told)
    found = judged({("delta", "plain"): 1.5, ("delta", "heavy"): 0.5})
    assert found.verdict == CONTRADICTED
    assert [case.verdict for case in found.cases] == [CONTRADICTED, BY_CONSTRUCTION]


def test_an_absurd_border_contradicts_nothing_on_a_stand_in() -> None:
    """3162 % against the printed 3187 %, with a border of half a point."""
    table = {("delta", "plain"): 31.62}
    found = judged(table, expect="between 3186.5 % and 3187.5 %")
    assert (found.verdict, found.reason) == (OPEN, cases.ALONE)
    on_files = [replace(c, labels={**c.labels, "dataset": "real"}) for c in cells(table)]
    assert Stored(on_files).verdict(claim(**{**RATIO, "expect": "< 31"})).evidence is Evidence.FILES
    found = Stored(on_files).verdict(claim(**{**RATIO, "expect": "between 3186.5 % and 3187.5 %"}))
    assert found.verdict == CONTRADICTED


def test_a_reading_of_another_metric_is_a_case_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both directions of a divergence are in every trial: nothing is run for the second one."""
    values = (AdmissibleValue("first", "so"), AdmissibleValue("second", "or so", metrics={"kl": "kl_reverse"}))
    readings = PaperReadings("x", (Unknown("direction", "not said", "first", values),))
    monkeypatch.setattr(cases, "readings_of", lambda experiment: readings)
    noise = 1 + np.linspace(-1, 1, 60) * 0.01
    found = [
        cell({"dataset": "none", "mechanism": "gs"}, kl=0.5 * noise, kl_reverse=2 * noise),
        cell({"dataset": "none", "mechanism": "fpa"}, kl=np.ones(60), kl_reverse=np.full(60, 1.5)),
    ]
    asked = claim(measure="kl(mechanism=gs) / kl(mechanism=fpa)", expect="< 1", certain=("kl",))
    verdict = Stored(found).verdict(asked)
    assert [(case.reading, case.verdict) for case in verdict.cases] == [
        ("default", REPRODUCED),
        ("direction.second", CONTRADICTED),
    ]
    assert verdict.verdict == ON_READING
    assert verdict.claim is asked
    other = Stored(found).verdict(claim(measure="kl_reverse(mechanism=gs)", expect="> 1"))
    assert [case.reading for case in other.cases] == ["default"]
