"""Claims: the little language, the intervals, the verdicts, the ledger itself, and the verb from outside."""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpbench.check import baselines as utility
from dpbench.claims.cells import Cell, cells_of
from dpbench.claims.expression import Missing, Scope, evaluate
from dpbench.claims.judge import Judge, Verdict
from dpbench.claims.ledger import CONTRADICTED, INCONCLUSIVE, REPRODUCED, UNTESTABLE, Claim, Region, ledger
from dpbench.config.catalogue import options
from dpbench.errors import UserError
from dpbench.paths import BASELINES, CONF

from support import runs
from support.runs import as_stored, run

Call = Callable[..., "subprocess.CompletedProcess[str]"]
LN2 = float(np.log(2))


def cell(labels: dict, **values: object) -> Cell:
    name = ",".join(f"{k}={v}" for k, v in labels.items())
    return Cell(name, labels, {k: np.atleast_1d(np.array(v, dtype=float)) for k, v in values.items()})


def grid() -> list[Cell]:
    """mae is 1, 2, 3 for three group sizes and 1.5 for the tuned one, times ten on the second dataset."""
    found = []
    for dataset, factor in (("one", 1), ("two", 10)):
        for w, mae in ((5, 1.0), (50, 2.0), (500, 3.0), ("auto", 1.5)):
            labels = {"dataset": dataset, "mechanism": "gs", "epsilon": LN2, "mechanism.w": w}
            maes = factor * np.array([mae - 0.1, mae + 0.1])
            found.append(cell(labels, **{"mae": maes, "chosen.scale": [factor, factor]}))
    return found


def value(text: str, cells: list[Cell] | None = None, **numbers: float) -> float:
    return float(evaluate(text, Scope(grid() if cells is None else cells, numbers))[0])


def test_measures() -> None:
    assert value("mae(dataset=one, w=5)") == pytest.approx(1)
    assert value("mae(dataset=two, w=auto) / mae(dataset=one, w=50, epsilon=ln2)") == pytest.approx(7.5)
    assert value("mae(dataset=one, w=auto) / least(mae(dataset=one), over=w) - 1") == pytest.approx(0.5)
    assert value("argmin(mae(dataset=one), over=w)") == 5
    assert value("argmax(mae(dataset=one), over=w)") == 500
    assert value("most(average(mae(), over=w), over=dataset)") == pytest.approx(20), "auto is no number: not averaged"
    assert value("mae(dataset=two, w=5) / chosen.scale(dataset=two, w=5)") == pytest.approx(1)
    assert value("metric('chosen.scale', dataset=two, w=5)") == 10
    assert value("max(mae(dataset=one, w=5), 7, -1) + min(2, 3)") == 9
    assert value("-2 ** 2 * (x + 1) / exp(0) + sqrt(4)", x=2) == -10
    sizes = [cell({"mechanism": "a"}, items=[n, n], mae=[n - 1, n + 1]) for n in (10, 20)]
    assert value("mae(items=20) / mae(items=10)", sizes) == 2, "a metric without noise is a label too"


def test_a_choice_among_cells_may_differ_by_dataset() -> None:
    cells = [
        cell({"dataset": dataset, "mechanism": "sra", "mechanism.l": size}, mae=[size, size])
        for dataset in ("one", "two")
        for size in (10, 30)
    ]
    cells += [cell({"dataset": dataset, "mechanism": "lpa"}, mae=[7, 7]) for dataset in ("one", "two")]
    choice = [{"dataset": "one", "l": [10, None]}, {"dataset": "two", "l": [30, None]}]
    left = Scope(cells).any_of(choice)
    assert float(evaluate("mae(dataset=one, mechanism=sra)", left)[0]) == 10
    assert float(evaluate("mae(dataset=two, mechanism=sra)", left)[0]) == 30
    assert float(evaluate("mae(dataset=two, mechanism=lpa)", left)[0]) == 7, "null keeps what has no l"
    assert {c.labels["mechanism"] for c in Scope(cells).where({"l": 10}).cells} == {"sra"}
    with pytest.raises(Missing, match=r"no trials of dataset=three or dataset=one, l=5"):
        Scope(cells).any_of([{"dataset": "three"}, {"dataset": "one", "l": 5}])


def test_a_loss_is_known_from_below_only() -> None:
    """Above what is expected it contradicts; an audit that finds nothing proves nothing."""
    found = Judge(Path("nowhere")).verdict(claim(experiment="", measure="loss(lpa, epsilon=1)", expect="<= 1"))
    assert (found.verdict, found.interval) == (CONTRADICTED, f"at least {found.measured}")
    kept = Judge(Path("nowhere")).verdict(claim(experiment="", measure="loss(lpa, epsilon=1, bound=20)", expect="<= 1"))
    assert kept.verdict == INCONCLUSIVE
    assert kept.claim.evidence == "audit of the mechanisms"


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()",
        "mae.__class__",
        "(lambda: 1)()",
        "[1][0]",
        "[x for x in (1, 2)]",
        "'text'",
        "open('x')",
        "mae(dataset=one, w=5) if 1 else 2",
        "mae(**{'dataset': 'one'})",
        "1 <",
        "exp(1, 2)",
        "1 and 2",
        "f'{1}'",
        "True.real",
        "mae(dataset=[1])",
        "nothing",
    ],
)
def test_nothing_else_of_python_is_reachable(text: str) -> None:
    with pytest.raises((UserError, Missing)):
        value(text)


def test_a_measure_that_leaves_several_cells_says_by_what_they_differ() -> None:
    with pytest.raises(UserError, match=r"mae: 2 cells are left, which differ in dataset"):
        value("mae(w=5)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mae(dataset=three)", "no trials of dataset=three"),
        ("mae(size=3)", "no cell has a parameter 'size'"),
        ("mea(dataset=one, w=5)", "no metric 'mea' was stored: did you mean 'mae'"),
        ("least(mae(), over=l)", "no cell has a parameter 'l'"),
        ("argmin(mae(w=5), over=dataset)", "dataset has no numbers here"),
    ],
)
def test_what_the_results_lack_is_named(text: str, message: str) -> None:
    with pytest.raises(Missing, match=message):
        value(text)


def test_the_interval_of_a_mean_is_students() -> None:
    """Quantiles of 9999 draws: within 5 % of the t interval's half width (their own error is about 2 %)."""
    from scipy import stats

    values = np.random.default_rng(1).normal(5, 2, 8)
    draws = evaluate("mae()", Scope([cell({"dataset": "one"}, mae=values)]))[1:]
    half = stats.t.ppf(0.975, 7) * values.std(ddof=1) / np.sqrt(8)
    low, high = np.quantile(draws, [0.025, 0.975])
    assert low == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.05 * half)


def test_intervals_of_a_ratio_cover() -> None:
    """400 ratios of two means over 6 trials each: at least 92.5 % of the intervals hold the true ratio.

    At a true coverage of 95 % the standard error is 1.1 %, so that the false-alarm rate is about 1 %; the seed is fixed.
    """
    rng = np.random.default_rng(2)
    hits = 0
    for i in range(400):
        cells = [
            Cell(f"{name}{i}", {"mechanism": name}, {"mae": rng.gamma(9, mean / 9, 6)})
            for name, mean in (("a", 3), ("b", 2))
        ]
        draws = evaluate("mae(mechanism=a) / mae(mechanism=b)", Scope(cells))[1:]
        low, high = np.quantile(draws, [0.025, 0.975])
        hits += low <= 1.5 <= high
    assert 0.925 <= hits / 400 <= 0.99


def test_metrics_of_a_cell_stay_paired() -> None:
    """The same trials stand behind both: a ratio that never varies has no interval, however noisy its parts."""
    noise = np.random.default_rng(3).exponential(1, 10)
    draws = evaluate("l1() / mae()", Scope([cell({"dataset": "one"}, mae=noise, l1=7 * noise)]))
    assert np.ptp(draws) < 1e-9


def test_a_frame_becomes_cells() -> None:
    frame = pd.DataFrame(
        {
            "dataset": ["a", "a", "b"],
            "mechanism.l": [10, 10, np.nan],
            "setting": ["x", "x", "y"],
            "trial": [0, 1, 0],
            "seconds": [0.1, 0.2, 0.3],
            "metric.mae": [1.0, 3.0, 5.0],
            "diagnostic.name": ["u", "v", "w"],
        }
    )
    one, two = cells_of(frame)
    assert (one.id, dict(one.labels), one.trials) == ("x", {"dataset": "a", "mechanism.l": 10}, 2)
    assert dict(two.labels) == {"dataset": "b"}
    assert set(one.values) == {"mae", "seconds"}


def test_sizes_of_queries_are_parts_of_the_domain() -> None:
    """At another scale the sizes have other names and the same parts."""
    for domain in (20_000, 1_000_000):
        rows = []
        for mechanism, factor in (("filter", 1.0), ("geometric", 2.0)):
            errors = {f"abs_error/{int(domain * part)}": factor * part for part in (0.01, 0.1, 0.5)}
            rows.append(
                {
                    "mechanism": mechanism,
                    "task.upto": 0.5,
                    "setting": mechanism,
                    "trial": 0,
                    "abs_error": factor,
                    **errors,
                }
            )
        cells = cells_of(as_stored(pd.DataFrame(rows).assign(seconds=1.0)))
        assert value("abs_error(mechanism=geometric)", cells) == 2, "the mean over all sizes"
        assert value("abs_error(mechanism=geometric, part=0.1)", cells) == pytest.approx(0.2)
        assert value("argmax(abs_error(mechanism=filter), over=part)", cells) == 0.5
        large = Scope(cells).where({"part": ">= 0.05"})
        assert [g["part"] for g in large.groups(["part"])] == [0.1, 0.5]


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
    assert [plain.show(x) for x in (0.0, 0.97514, 12345.6, 1.654e9, 2e-9)] == [
        "0",
        "0.9751",
        "12346",
        "1.65e+09",
        "2.00e-09",
    ]


@pytest.mark.parametrize("text", ["1", "around 3", "< one", "between 1", "about 1"])
def test_wrong_regions(text: str) -> None:
    with pytest.raises(UserError, match=r"is not valid|is no number"):
        Region.parse(text)


class Stored(Judge):
    """A judge of cells in memory."""

    def __init__(self, cells: list[Cell], scale: str = "laptop") -> None:
        self.runs = {"x/fig": run("x/fig", [runs.dataset("real", original=True), runs.dataset("one")], scale=scale)}
        self._cells = {"x/fig": cells}
        self.results = Path("results")


def claim(**given: object) -> Claim:
    entry = {"id": "x/c", "paper": "x", "place": "Figure 1", "says": "so", "experiment": "x/fig"} | given
    return Claim(**entry)  # type: ignore[arg-type]


def ratio_cells(ratios: dict[str, float], spread: float, trials: int = 20) -> list[Cell]:
    noise = np.linspace(-1, 1, trials) * spread
    parts = []
    for dataset, ratio in ratios.items():
        parts.append(cell({"dataset": dataset, "mechanism": "gs"}, mae=ratio * (1 + noise)))
        parts.append(cell({"dataset": dataset, "mechanism": "lpa"}, mae=1 + noise))
    return parts


RATIO = {"measure": "mae(mechanism=gs) / mae(mechanism=lpa)", "expect": "< 1"}


@pytest.mark.parametrize(
    ("ratio", "spread", "verdict"),
    [(0.5, 0.1, REPRODUCED), (2.0, 0.1, CONTRADICTED), (0.97, 0.5, INCONCLUSIVE), (1.03, 0.5, INCONCLUSIVE)],
)
def test_verdicts(ratio: float, spread: float, verdict: str) -> None:
    found = Stored(ratio_cells({"one": ratio}, spread)).verdict(claim(**RATIO))
    assert found.verdict == verdict
    assert found.decider is not None
    assert found.decider.low < ratio < found.decider.high
    assert found.trials == 20


def test_the_border_itself_is_outside() -> None:
    cells = [cell({"mechanism": "a"}, mae=[1, 1, 1])]
    for expect, verdict in (("< 1", CONTRADICTED), ("> 1", CONTRADICTED), ("<= 1", REPRODUCED), ("= 1", REPRODUCED)):
        assert Stored(cells).verdict(claim(measure="mae()", expect=expect)).verdict == verdict


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
    assert small.command == "python -m dpbench run experiment=x/fig scale=paper"
    assert replace(small, results=Path("elsewhere")).command.endswith(" scale=paper results=elsewhere")
    other = judge.verdict(claim(experiment="x/other", **RATIO))
    assert (other.verdict, other.reason) == (UNTESTABLE, "x/other was not run")
    part = judge.verdict(claim(where={"dataset": "two"}, **RATIO))
    assert (part.verdict, part.reason) == (UNTESTABLE, "no trials of dataset=two")
    never = judge.verdict(claim(untestable="the figure is lost"))
    assert (never.verdict, never.reason, never.command) == (UNTESTABLE, "the figure is lost", "")


def test_a_claim_about_the_original_files_is_not_tested_on_generated_data() -> None:
    judge = Stored(ratio_cells({"one": 0.5}, 0.1))
    assert judge.verdict(claim(original="real", **RATIO)).verdict == REPRODUCED
    made_up = judge.verdict(claim(original="one", **RATIO))
    assert made_up.verdict == UNTESTABLE
    assert "dataset.one.path=FOLDER" in made_up.reason


def test_a_first_trial_that_loads_code_is_no_time_of_the_mechanism() -> None:
    frame = pd.DataFrame(
        {
            "mechanism": "a",
            "setting": "x",
            "trial": range(5),
            "seconds": [0.9, 0.01, 0.012, 0.011, 0.009],
            "metric.mae": 1.0,
        }
    )
    assert value("seconds()", cells_of(frame)) == pytest.approx(0.0106)


def test_data_of_the_full_size_decide_at_a_smaller_scale() -> None:
    """Gowalla is as large on a laptop as in the paper, Netflix is not; what is left out is said, and decides nothing."""
    import yaml

    def judge(**ratios: float) -> Judge:
        found = Stored(ratio_cells(ratios, 0.05), scale="laptop")
        sizes = {n: yaml.safe_load((CONF / "dataset" / f"{n}.yaml").read_text())[n]["sizes"]["laptop"] for n in ratios}
        found.runs["x/fig"] = run("x/fig", [runs.dataset(name, size) for name, size in sizes.items()])
        return found

    each = claim(scale="paper", each=("dataset",), **RATIO)
    part = judge(gowalla=0.5, netflix=0.5).verdict(each)
    assert (part.verdict, len(part.groups)) == (INCONCLUSIVE, 1)
    assert part.reason == "reproduced where it could be tested; netflix: needs scale=paper"
    assert judge(gowalla=0.5, foursquare=0.5).verdict(each).verdict == REPRODUCED
    assert judge(gowalla=1.5, netflix=0.5).verdict(each).verdict == CONTRADICTED, "one is enough"
    some = claim(scale="paper", some=("dataset",), **RATIO)
    assert judge(gowalla=0.5, netflix=2).verdict(some).verdict == REPRODUCED, "one is enough"
    assert judge(gowalla=1.5, netflix=0.5).verdict(some).verdict == INCONCLUSIVE
    only = judge(netflix=0.5).verdict(each)
    assert (only.verdict, only.reason) == (UNTESTABLE, "needs scale=paper, was run at laptop")
    here = claim(scale="paper", where={"dataset": "gowalla"}, **RATIO)
    assert judge(gowalla=0.5, netflix=2).verdict(here).verdict == REPRODUCED


def run_of_fig9(ratios: dict[str, float], epsilons: tuple[float, ...] = (0.1, LN2, float(np.log(3)))) -> Judge:
    """A run of gs/fig9, whose own datasets and budgets are known, with some of them."""
    cells = [
        Cell(f"{c.id},{e}", {**c.labels, "epsilon": e}, c.values) for e in epsilons for c in ratio_cells(ratios, 0.05)
    ]
    judge = Stored(cells)
    judge.runs = {"gs/fig9": run("gs/fig9", [runs.dataset(name) for name in ratios], scale="paper")}
    judge._cells = {"gs/fig9": cells}
    return judge


def test_a_run_of_some_datasets_does_not_decide_about_all() -> None:
    every = claim(experiment="gs/fig9", each=("dataset", "epsilon"), **RATIO)
    whole = dict.fromkeys(("checkin", "document", "netflix", "trajectory"), 0.5)
    assert run_of_fig9(whole).verdict(every).verdict == REPRODUCED
    part = run_of_fig9({"document": 0.5, "netflix": 0.5}).verdict(every)
    assert part.verdict == INCONCLUSIVE
    assert part.reason == (
        "reproduced where it could be tested; dataset=checkin: not in this run; dataset=trajectory: not in this run"
    )
    assert run_of_fig9({"document": 1.5}).verdict(every).verdict == CONTRADICTED, "one is enough"
    budgets = run_of_fig9(whole, (0.1, LN2)).verdict(every)
    assert budgets.reason == "reproduced where it could be tested; epsilon=ln3: not in this run"
    some = claim(experiment="gs/fig9", where={"dataset": ["document", "checkin"]}, some=("dataset", "epsilon"), **RATIO)
    assert run_of_fig9({"document": 0.5}).verdict(some).verdict == REPRODUCED, "one is enough"
    assert run_of_fig9({"document": 1.5}).verdict(some).verdict == INCONCLUSIVE


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
    assert (found.verdict, len(found.groups)) == (INCONCLUSIVE, 1)
    assert found.reason == "reproduced where it could be tested; dataset=two: no trials of mechanism=lpa"


def test_cells_that_were_planned_and_have_no_trials_yet() -> None:
    """An interrupted run: a group that lacks a cell decides nothing, and neither does the best of some settings."""
    cells = ratio_cells({"one": 0.5, "two": 0.5}, 0.1)
    cells[-1] = Cell("absent", cells[-1].labels, {})
    found = Stored(cells).verdict(claim(each=("dataset",), **RATIO))
    assert (found.verdict, len(found.groups)) == (INCONCLUSIVE, 1)
    assert found.reason.endswith("dataset=two: planned, and no trial is stored yet")
    sizes = [
        cell({"mechanism": "sra", "mechanism.l": size}, mse=abs(size - 20) + np.linspace(1, 2, 6))
        for size in (10, 20, 30)
    ]
    best = claim(measure="argmin(mse(), over=l)", expect="= 20")
    assert Stored(sizes).verdict(best).verdict == REPRODUCED
    left = Stored([sizes[0], Cell("absent", sizes[1].labels, {}), sizes[2]]).verdict(best)
    assert (left.verdict, left.reason) == (UNTESTABLE, "planned, and no trial is stored yet")
    assert left.command == "python -m dpbench run experiment=x/fig"
    parts = cells_of_parts()
    assert Stored(parts).verdict(claim(**PARTS)).verdict == REPRODUCED
    assert Stored([parts[0], Cell("absent", parts[1].labels, {})]).verdict(claim(**PARTS)).verdict == UNTESTABLE


PARTS = {"where": {"part": 0.1}, "measure": "argmin(abs_error(), over=theta)", "expect": "= 2"}


def cells_of_parts() -> list[Cell]:
    return [cell({"mechanism.theta": t, "part": 0.1}, abs_error=1 / t + np.linspace(0, 0.01, 6)) for t in (1, 2)]


def test_a_run_with_other_parameters_decides_nothing() -> None:
    judge = Stored(ratio_cells({"one": 2.0}, 0.1))
    assert judge.verdict(claim(**RATIO)).verdict == CONTRADICTED
    judge.runs["x/fig"] = replace(judge.runs["x/fig"], altered=("lpa: bound = 5 instead of default",))
    found = judge.verdict(claim(**RATIO))
    assert found.verdict == INCONCLUSIVE
    assert found.reason == "contradicted by a run that is not as defined (lpa: bound = 5 instead of default)"
    assert judge.unfinished("x/fig"), "claims --run brings the whole back"


def test_what_generated_data_are_fitted_to_is_said() -> None:
    cells = [cell({"dataset": name, "mechanism": "a"}, rows=[7]) for name in ("one", "real")]
    judge = Stored(cells)
    made = {"measure": "rows()", "expect": "= 7", "exact": True, "made": True}
    generated = judge.verdict(claim(where={"dataset": "one"}, **made))
    assert (generated.verdict, generated.reason) == (REPRODUCED, "the data are generated, and fitted to this")
    assert judge.verdict(claim(where={"dataset": "real"}, **made)).reason == ""


def test_a_claim_tells_what_decides_it() -> None:
    assert claim(**RATIO).evidence == "x/fig"
    assert claim(experiment="", measure="1 + 1", expect="= 2").evidence == "arithmetic, nothing measured"
    assert claim(experiment="", untestable="lost").evidence == ""


def test_one_trial_decides_only_what_holds_no_noise() -> None:
    judge = Stored(ratio_cells({"one": 0.5}, 0.0, trials=1))
    assert judge.verdict(claim(**RATIO)).verdict == INCONCLUSIVE
    assert judge.verdict(claim(exact=True, **RATIO)).verdict == REPRODUCED


def test_a_wrong_ledger_is_named(tmp_path: Path) -> None:
    def load(text: str) -> list[Claim]:
        (tmp_path / "mine.yaml").write_text(text)
        return ledger(folder=tmp_path)

    good = 'c: {place: p, says: s, measure: mae(), expect: "< 1"}'
    assert load(good)[0].id == "mine/c"
    for text, message in (
        (good.replace("measure", "mesure"), "claim mine/c: unknown key 'mesure': did you mean 'measure'"),
        (good.replace('"< 1"', "small"), "claim mine/c: expect: 'small' is not valid"),
        ("c: {place: p, says: s, measure: mae()}", "claim mine/c: needs `measure` and `expect`"),
        (good.replace("}", ", basis: rumour}"), "basis='rumour' is not valid"),
        (good.replace("}", ", scale: huge}"), "scale='huge' is not valid"),
        (good.replace("}", ", each: a, some: b}"), "give `each` or `some`"),
        ("c: {place: p", "mine.yaml"),
        ("c: {says: s, untestable: lost}", "claim mine/c: .*place"),
        (good.replace("}", ", where: mae}"), "claim mine/c: where='mae' is not valid"),
        (good.replace("}", ", where: [{a: 1}, b]}"), "claim mine/c: where=.* is not valid"),
        ("c: lost", "claim mine/c: 'lost' is no claim"),
        ("- c", "mine.yaml: expected claims by name"),
        ("", "mine.yaml: expected claims by name"),
    ):
        with pytest.raises(UserError, match=message):
            load(text)
    load(good)
    with pytest.raises(UserError, match="unknown paper 'min': did you mean 'mine'"):
        ledger(["min"], folder=tmp_path)


# The ledger of the papers itself.

CLAIMS = ledger()


def test_every_claim_names_an_experiment_that_exists() -> None:
    known = set(options("experiment"))
    assert CLAIMS
    assert len({c.id for c in CLAIMS}) == len(CLAIMS)
    missing = {c.id: c.experiment for c in CLAIMS if c.experiment and c.experiment not in known}
    assert not missing


def test_no_claim_hides_another_of_its_name() -> None:
    """YAML keeps the last of two equal keys and says nothing."""
    for path in sorted((CONF / "claims").glob("*.yaml")):
        names = re.findall(r"^([\w-]+):$", path.read_text(), flags=re.MULTILINE)
        assert len(names) == len(set(names)) == sum(c.paper == path.stem for c in CLAIMS), path.name


def test_every_erratum_of_the_papers_is_there() -> None:
    """And those that are arithmetic by nature are no more than these."""
    errata = {c.id: c.evidence for c in CLAIMS if c.basis == "erratum"}
    assert set(errata) == {
        "gs/erratum-laplace-mean",
        "gs/erratum-formula-18",
        "gs/erratum-fourier-variance",
        "gs/erratum-private",
        "gs/erratum-sample-scaled",
        "sparse/erratum-adult-mean",
        "sparse/erratum-real-threshold",
        "analytics/erratum-foursquare-average",
        "analytics/erratum-netflix-items",
        "analytics/erratum-fourier-repeats",
        "analytics/erratum-tenth-movie",
    }
    arithmetic = {name for name, evidence in errata.items() if evidence == "arithmetic, nothing measured"}
    assert arithmetic == {"gs/erratum-formula-18", "sparse/erratum-real-threshold"}


def test_errata_that_need_no_run_are_contradicted() -> None:
    judge = Judge(Path("nowhere"))
    found = [judge.verdict(c) for c in CLAIMS if c.basis == "erratum" and not c.experiment and not c.untestable]
    assert found
    assert {v.claim.id: v.verdict for v in found if v.verdict != CONTRADICTED} == {}


def smoke(experiment: str) -> list[Cell]:
    """The cells of an experiment as the baselines hold them: without times and what was chosen."""
    numbers = utility.load(BASELINES).get(experiment)
    if numbers is None:
        return []
    rows = [
        {**c.labels, "setting": key, "trial": i, **{f"metric.{name}": values[i] for name, values in c.values.items()}}
        for key, c in numbers.cells.items()
        for i in range(len(next(iter(c.values.values()))))
    ]
    return cells_of(pd.DataFrame(rows).assign(seconds=1.0))


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.experiment and not c.untestable], ids=lambda c: c.id)
def test_every_measure_finds_its_numbers(claim: Claim) -> None:
    """On the baselines, whatever the scale that the claim itself asks for. What was chosen and times are not among them."""
    if any(word in claim.measure for word in ("chosen.", "diagnostic.", "seconds")):
        pytest.skip("measures what the baselines do not keep")
    if not (cells := smoke(claim.experiment)):
        pytest.skip(f"{claim.experiment} has no baseline")
    judge = Stored(cells)
    original = runs.dataset(claim.original or "none", original=True)
    judge.runs = {claim.experiment: run(claim.experiment, [original], scale="paper")}
    judge._cells = {claim.experiment: cells}
    found: Verdict = judge.verdict(claim)
    if claim.scale == "paper" and found.reason.startswith("no metric"):
        pytest.skip(f"smoke scale is too small: {found.reason}")
    assert found.verdict != UNTESTABLE, found.reason
    assert found.decider is not None


def test_the_verb(dpbench: Call, tmp_path: Path) -> None:
    """Verdicts of any kind end in status 0; what is missing is said with its command."""
    done = dpbench("claims", "gs")
    assert done.returncode == 0, done.stderr
    assert "gs/fig9 was not run" in done.stdout
    assert "python -m dpbench run experiment=gs/fig9" in done.stdout
    words = (
        "run",
        "experiment=gs/fig9",
        "scale=smoke",
        "dataset=[trajectory]",
        "mechanism=[lpa,gs]",
        "tracking=none",
        "figure=false",
    )
    assert dpbench(*words).returncode == 0
    done = dpbench("claims", "gs", "--scale", "smoke")
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if "gs/erratum-laplace-mean" in line)
    assert "contradicted" in row
    assert dpbench("claims", "gss").stderr == "dpbench: unknown paper 'gss': did you mean 'gs'?\n"


@pytest.mark.parametrize("width", [60, 80, 100, 170])
def test_every_claim_is_readable_at_any_width(width: int) -> None:
    """No column is too narrow for its words, and a contradiction comes with its note."""
    from rich.console import Console

    from dpbench.cli.claims import NARROW, listing, table

    judge = Stored(ratio_cells({"good": 0.2, "bad": 1.5}, 0.05))
    found = [
        judge.verdict(claim(each=("dataset",), note="GS [as] printed", **RATIO)),
        judge.verdict(claim(experiment="", measure="1 + 1", expect="= 2")),
        judge.verdict(claim(untestable="the figure is lost", note="never shown")),
    ]
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(table("t", found) if width >= NARROW else listing("t", found))
    text = console.export_text()
    for words in ("contradicted", "dataset=bad", "reproduced", "not testable", "GS [as] printed", "the figure is lost"):
        assert words in text
    assert "arithmetic" in text
    assert "never shown" not in text
    assert max(map(len, text.splitlines())) <= width


def test_unfinished_runs_are_known() -> None:
    """Never run, without some dataset, interrupted, or whole."""
    judge = run_of_fig9(dict.fromkeys(("checkin", "document", "netflix", "trajectory"), 0.5))
    cells = judge.cells("gs/fig9")
    uses, labels = judge.runs["gs/fig9"].datasets.values(), [(c.id, c.labels) for c in cells]
    whole = judge.runs["gs/fig9"] = run("gs/fig9", uses, labels, scale="paper")
    assert judge.unfinished("gs/fig7"), "never run"
    assert not judge.unfinished("gs/fig9")
    judge.runs["gs/fig9"] = replace(whole, repetitions=21)
    assert judge.unfinished("gs/fig9"), "a trial is missing"
    judge.runs["gs/fig9"] = whole
    judge._cells["gs/fig9"] = cells[1:]
    assert judge.unfinished("gs/fig9"), "a setting is missing"
    judge._cells["gs/fig9"] = [c for c in cells if c.labels["dataset"] != "checkin"]
    left = tuple(s for s in whole.settings if s.dataset.name != "checkin")
    judge.runs["gs/fig9"] = replace(whole, settings=left)
    assert judge.unfinished("gs/fig9"), "a dataset of the experiment is missing"


def test_run_makes_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dpbench.cli import claims as verb
    from dpbench.engine import suite
    from dpbench.engine.runner import Result

    ran = []

    def record(experiment: str, **options: object) -> tuple[None, Result]:
        ran.append((experiment, options["scale"]))
        return None, Result()

    monkeypatch.setattr(suite, "run_experiment", record)
    assert verb.main(["gs", "--run", "--results", str(tmp_path)]) == 0
    assert set(ran) == {(e, "laptop") for e in ("gs/table2", "gs/fig7", "gs/fig8", "gs/fig9", "gs/fig10")}
