"""Boards: which mechanism is on which, under which name; ranks and regrets by hand; the tables that scripts and verb show."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from dpbench.figures import captions, style
from dpbench.figures.boards import BASIC, PAPER, SMALL, label, look
from dpbench.figures.draw import load_script
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.run import Dataset, Run, Setting, Variant
from dpbench.paths import EXPERIMENTS
from dpbench.ranking import tables, views
from dpbench.ranking.boards import Board, board_of, boarded, entrants, entrants_by_labels, places
from dpbench.ranking.boards import names as named
from dpbench.ranking.duels import duels
from dpbench.ranking.pairwise import Measure
from dpbench.ranking.standings import contests, regrets

FIVE = ("gs", "sparse", "analytics", "sensitivity", "epicrec")
ERRORS = {"lpa": 2.0, "gs": 1.0, "zero": 4.0, "gaussian": 1.5, "fpa": 3.0}


def setting(dataset, mechanism, epsilon, *, guarantee="ε", not_private="", params=None, declared=()):
    use = Dataset(dataset, "incidence", kind="incidence", statistics={"cells": 1000.0})
    key = f"{abs(hash((dataset, mechanism, epsilon, not_private, str(params)))):032x}"
    variant = Variant(mechanism, mechanism, params or {}, declared)
    task = Variant("leaderboard", "leaderboard")
    return Setting(use, variant, epsilon, task, key, key, guarantee, not_private, "add or remove one row")


def made(errors=ERRORS, trials=6):
    """A run of two datasets and two budgets, and its trials: gaussian is (ε, δ), fpa reads the data, gs has a declared bound."""
    facts = {
        "gaussian": {"guarantee": "(ε, δ)"},
        "fpa": {"not_private": "the optimal ρ looks at the data"},
        "gs": {"params": {"bound": 7}, "declared": ("bound",)},
    }
    rng, settings, rows = np.random.default_rng(3), [], []
    for dataset in ("checkin", "netflix"):
        for epsilon in (0.1, 1.0):
            for name, error in errors.items():
                one = setting(dataset, name, epsilon, **facts.get(name, {}))
                settings.append(one)
                for trial in range(trials):
                    mae = error / epsilon * rng.uniform(0.99, 1.01)
                    row = {"dataset": dataset, "epsilon": epsilon, "mechanism": name, "setting": one.id, "trial": trial}
                    numbers = {"mae": mae, "mre": mae, "mse": mae**2, "kl": mae, "precision_at_10": 0.5}
                    shares = {"share_noise": 0.75 * mae**2, "share_grouping": 0.25 * mae**2}
                    rows.append(row | {f"metric.{k}": v for k, v in (numbers | shares).items()})
    run = Run("cross/leaderboard", "smoke", trials, 0, tuple(settings), experiment="cross/leaderboard")
    return run, pd.DataFrame(rows).assign(data_seed=0)


@pytest.fixture(scope="module")
def script():
    return load_script(EXPERIMENTS / "cross" / "leaderboard.py")


@pytest.fixture(scope="module")
def numbers(script):
    run, trials = made()
    return script.numbers(trials, run)


def test_the_guarantee_decides_the_board():
    assert board_of(setting("d", "lpa", 1.0)) is Board.PURE
    assert board_of(setting("d", "gaussian", 1.0, guarantee="(ε, δ)")) is Board.APPROXIMATE
    assert board_of(setting("d", "lpa", 1.0, not_private="it looks")) is Board.READS
    assert board_of(setting("d", "mine", 1.0, guarantee="not stated")) is Board.READS
    assert board_of(setting("d", "mine", 1.0, guarantee="none")) is Board.READS


def test_variants_of_one_board_are_told_apart_and_only_those():
    declared = {"params": {"bound": 7}, "declared": ("bound",)}
    other = {"params": {"bound": 9}, "declared": ("bound",)}
    both = [setting("a", "correlated", 1.0, **declared), setting("a", "correlated", 1.0, params={"bound": None})]
    alone = [setting("a", "lpa", 1.0, **declared), setting("b", "lpa", 1.0, **other)]
    reads = [setting("a", "lpa", 1.0, params={"bound": None}, not_private="looks")]
    run = Run("x", "smoke", 2, 0, (*both, *alone, *reads))
    names = [named(entrants(run))[one.id, one.mechanism.name] for one in run.settings]
    assert names == ["correlated[bound=declared]", "correlated[bound=None]", "lpa", "lpa", "lpa"]


def test_boards_are_never_mixed(numbers):
    assert numbers.groupby("board")["who"].unique().map(set).to_dict() == {
        "pure ε": {"lpa", "gs", "zero"},
        "(ε, δ)": {"gaussian"},
        "reads the data": {"fpa"},
    }
    ranks = numbers.drop_duplicates("who").set_index("who")
    assert ranks["rank"].to_dict() == {"gs": 1, "lpa": 2, "zero": 3, "gaussian": 1, "fpa": 1}
    assert ranks["regret"].to_dict() == pytest.approx({"gs": 1, "lpa": 2, "zero": 4, "gaussian": 1, "fpa": 1}, rel=0.02)
    assert ranks.loc["gs", "times_competitive"] == 4
    assert ranks.loc["lpa", "times_competitive"] == 0
    assert ranks.loc["lpa", "regret_low"] < 2 < ranks.loc["lpa", "regret_high"]
    assert ranks["regret_mse"]["lpa"] == pytest.approx(4, rel=0.05)


def test_who_missed_a_setting_has_a_regret_and_no_rank():
    run, trials = made()
    frame = boarded(trials, places(trials, run))
    frame = frame[~((frame["mechanism"] == "zero") & (frame["dataset"] == "netflix"))]
    table = regrets(contests(frame[frame["board"] == "pure ε"], Measure("mae")), Measure("mae")).set_index("who")
    assert math.isnan(table.loc["zero", "rank"])
    assert table.loc["zero", "regret"] == pytest.approx(4, rel=0.02)
    assert table["settings"].to_dict() == {"gs": 4, "lpa": 4, "zero": 2}
    assert list(table.index)[-1] == "zero"


def test_ranks_vary_over_datasets():
    """a is the best on five datasets of six and by far the worst on one: its rank is not sure."""
    rows = []
    for at in range(6):
        for name, error in (("a", 1.0 if at else 50.0), ("b", 2.0), ("c", 3.0)):
            rows += [
                {"dataset": f"d{at}", "epsilon": 1.0, "who": name, "metric.mae": error + 1e-3 * i} for i in range(6)
            ]
    table = regrets(contests(pd.DataFrame(rows), Measure("mae")), Measure("mae")).set_index("who")
    assert (table.loc["a", "rank_low"], table.loc["a", "rank_high"]) == (1, 3)
    assert table.loc["c", "rank_low"] >= 2


def test_duels(numbers):
    found = {duel.rival: duel for duel in duels(numbers, "lpa")}
    assert set(found) == {"gs", "zero"}
    assert (found["gs"].better, found["gs"].worse, found["gs"].settings) == (0, 4, 4)
    assert found["gs"].ratio == pytest.approx(2, rel=0.02)
    assert (found["zero"].better, found["zero"].worse) == (4, 0)


def test_the_error_split_adds_up_to_one(numbers):
    table = tables.shares(numbers, Board.PURE).set_index("who")
    assert table.sum(axis=1).tolist() == pytest.approx([1] * 3)
    assert table.loc["gs", "noise"] == pytest.approx(0.75)


def test_figures_are_one_page_wide_and_readable(script, numbers):
    with style.paper_style():
        figures = script.figures(numbers)
    assert list(figures) == ["pure", "delta", "reads"]
    for figure in figures.values():
        assert figure.get_size_inches()[0] == 7
        texts = [text for ax in figure.axes for text in (*ax.texts, *ax.get_yticklabels(), *ax.get_xticklabels())]
        assert min(text.get_fontsize() for text in texts) >= SMALL
        style.plt.close(figure)
    shown = script.summary(numbers)
    assert shown["board"].tolist() == ["pure ε"] * 3 + ["(ε, δ)", "reads the data"]
    assert (shown["neighbours"] == "add or remove one row").all()


def test_regrets_of_shares_are_in_points_like_the_cells(numbers):
    """An x-axis from 0 to 1 under cells from 0 to 100 would be two units in one figure."""
    table = numbers.rename(columns={"mae": "precision"}).assign(regret=0.2, regret_low=0.1, regret_high=0.4, ratio=0.2)
    with style.paper_style():
        figure = views.RANKING_BOARD.figures(table)["pure"]
    figure.canvas.draw()
    shown = {text.get_text() for text in figure.axes[0].get_xticklabels()}
    assert "20" in shown
    assert "0.2" not in shown
    assert {text.get_text() for text in figure.axes[1].texts} == {"20"}
    style.plt.close(figure)


def test_a_board_says_what_its_intervals_are_about(script, numbers):
    """One draw of the data: about this draw. Three: about the draws, too. Both relations of neighbours are in the caption."""
    run, trials = made()
    parts = [trials.assign(data_seed=seed) for seed in range(3)]
    several = script.numbers(pd.concat(parts, ignore_index=True), run)
    mixed = script.numbers(pd.concat([parts[0], *(p[p["dataset"] == "netflix"] for p in parts[1:])]), run)
    other = numbers.assign(neighbours=numbers["neighbours"].where(numbers["who"] != "zero", "any two datasets"))
    for table, expected in (
        (numbers, "the noise of the trials on this data only: on another draw"),
        (several, "the noise of the trials and the differences between 3 draws of the data"),
        (mixed, "the noise of the trials and the differences between up to 3 draws of the data"),
        (other, "neighbours: add or remove one row; Zero: any two datasets"),
    ):
        with style.paper_style():
            figure = script.figures(table)["pure"]
        assert expected in " ".join(captions.told(figure))
        style.plt.close(figure)


def test_a_board_of_original_files_does_not_speak_of_other_draws(numbers):
    with style.paper_style():
        figure = load_script(EXPERIMENTS / "cross" / "real.py").figures(numbers)["pure"]
    assert "intervals and dots are about the noise of the trials on this data only; what" in " ".join(
        captions.told(figure)
    )
    style.plt.close(figure)


def test_an_error_that_is_not_split_is_not_an_empty_bar(script, numbers):
    """A user's release without stages has no causes."""
    shares = [c for c in numbers.columns if c.startswith("share_")]
    table = numbers.copy()
    table.loc[table["who"] == "lpa", shares] = np.nan
    with style.paper_style():
        figure = script.figures(table)["pure"]
    assert [text.get_text() for text in figure.axes[2].texts] == ["not split"]
    style.plt.close(figure)


def test_who_is_of_the_papers_is_what_the_classes_say():
    for name, cls in MECHANISMS.items():
        if look(name) is not BASIC:
            assert (look(name) is PAPER) == (cls.paper in FIVE), name
    assert {name for name in MECHANISMS.names() if look(name) is BASIC} == {"alpa", "geometric", "lpa", "zero"}
    assert look("fpa_fixed[bound=declared]") is PAPER


def test_a_stranger_is_modern_and_keeps_its_name():
    assert look("mine.Rounded").word == "modern"
    assert label("mine.Rounded") == "mine.Rounded"
    assert label("gaussian_correlated[bound=declared]") == "Correlated Gaussian (bound)"


def test_sizes_of_queries_are_those_of_the_task():
    """From 0.01 % to 50 % in five steps. A domain of a few thousand cells has no range of 0.01 %: four sizes are left."""
    labels = {
        "task.share": 0.0001,
        "task.upto": 0.5,
        "task.steps": 5,
        "dataset": "growing_table",
        "dataset.cells": 1e12,
    }
    assert views.parts_of(labels, 5) == ["0.01 %", "0.08 %", "0.7 %", "6 %", "50 %"]
    assert views.parts_of(labels, 4) == ["0.08 %", "0.7 %", "6 %", "50 %"]
    assert views.place(labels) == "1e12 cells"


def test_boards_of_queries_show_the_split_of_the_error():
    """Its causes are known for the queries of all sizes together, and are shown for each size."""
    names = ("geometric", "filter")
    run = Run("cross/ranges", "smoke", 2, 0, tuple(setting("census", name, 1.0) for name in names))
    labels = {"dataset": "census", "epsilon": 1.0, "task.share": 0.01, "task.upto": 0.1, "task.steps": 2}
    errors = {"abs_error/10": 2.0, "abs_error/100": 5.0, "share_noise": 30.0, "share_dropping": 10.0}
    rows = [
        {**labels, "mechanism": one.mechanism.name, "setting": one.id, "trial": trial, "data_seed": 0}
        | {f"metric.{name}": value + trial for name, value in errors.items()}
        for one in run.settings
        for trial in range(2)
    ]
    numbers = views.QUERY_BOARD.numbers(pd.DataFrame(rows), run)
    assert numbers["share"].value_counts().to_dict() == {"1 %": 2, "10 %": 2}
    assert (numbers["share_noise"] == 30.5).all()
    assert not [name for name in numbers.columns if name.startswith("share_") and name.endswith(("_se", "_p95"))]
    split = tables.shares(numbers, Board.PURE).set_index("who")
    assert split.loc["filter"].to_dict() == pytest.approx({"noise": 30.5 / 41, "dropping": 10.5 / 41})


def test_boards_from_labels_alone_are_those_of_the_run():
    """As `check` makes the numbers of a figure, which has no run."""
    rows = [
        ("a", "lpa", "declared", Board.PURE),
        ("b", "lpa", None, Board.READS),
        ("c", "gaussian", "declared", Board.APPROXIMATE),
        ("d", "zero", None, Board.PURE),
    ]
    frame = pd.DataFrame([{"setting": s, "mechanism": m, "mechanism.bound": b} for s, m, b, _ in rows])
    assert [one.board for one in entrants_by_labels(frame).values()] == [board for *_, board in rows]
