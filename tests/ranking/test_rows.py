"""Boards on record: rows and winners by hand, the page and the table made from them, and what `compare --record` prints."""

from __future__ import annotations

import io
import math
import re

import pytest
from pages import boards
from rich.console import Console
from winners import winners_table

import dpbench
from dpbench.cli import recorded_boards
from dpbench.errors import UserError
from dpbench.figures.draw import draw
from dpbench.ranking import rows as module
from dpbench.ranking.boards import Board
from dpbench.ranking.rows import recorded, regret_text, rows, winners
from dpbench.reproduce.make_record import take
from dpbench.storage.record import as_recorded, write


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    given = {"dataset": ["trajectory", "transactions"], "epsilon": [0.1, 1.0], "trials": 8, "look": 4, "jobs": 1}
    mechanisms = ["lpa", "zero", "clipped_laplace", "gaussian_correlated", "gs_mean"]
    results = tmp_path_factory.mktemp("results")
    return dpbench.run("cross/leaderboard", scale="smoke", results=results, mechanism=mechanisms, **given)


@pytest.fixture(scope="module")
def records(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("record")
    drawing = draw(run)
    write(take(run, drawing.numbers, seconds=1.0, memory=None), drawing.numbers, folder)
    return folder


@pytest.fixture(scope="module")
def numbers(records):
    return recorded("cross/leaderboard", records)


def test_a_row_says_what_the_numbers_say(run, numbers):
    """The same from the record as from the run."""
    made = draw(run).numbers
    own = rows("cross/leaderboard", numbers)
    assert own == rows("cross/leaderboard", as_recorded(made))
    first = next(row for row in own if row.board is Board.PURE)
    table = numbers[(numbers["board"] == "pure ε") & (numbers["who"] == first.who)]
    assert first.rank == 1
    assert first.regret == table["regret"].iloc[0]
    assert first.trials == (table["trials"].min(), table["trials"].max())
    assert first.seconds == pytest.approx(math.exp(table["seconds"].map(math.log).mean()))
    assert first.memory == table["memory"].max() > 0
    lpa = next(row for row in own if row.who == "lpa[bound=declared]" or row.who == "lpa")
    assert lpa.out_of_reach
    assert lpa.standing == "out of reach after 4 trials"
    assert math.isnan(lpa.rank)


def test_the_winner_has_the_lowest_regret_of_its_budget(numbers):
    won = winners("cross/leaderboard", numbers)
    assert [(one.board, one.epsilon) for one in won] == [(board, e) for board in Board for e in (0.1, 1.0)]
    for one in won:
        own = numbers[(numbers["board"] == str(one.board)) & (numbers["epsilon"] == one.epsilon)]
        means = own.groupby("who")["ratio"].apply(lambda ratio: math.exp(ratio.map(math.log).mean()))
        assert one.who == means.idxmin()
        assert one.regret == pytest.approx(means.min())
        assert one.regret_low <= one.regret <= one.regret_high
        assert one.best == (own.loc[own["who"] == one.who, "ratio"] == 1).sum()


def test_regrets_in_words():
    assert regret_text(1.234, 1.2, 12.34, False) == "1.23 (1.20 to 12.3)"
    assert regret_text(0.041, 0.03, 0.052, True) == "4.1 points (3.0 to 5.2)"
    assert regret_text(math.nan, math.nan, math.nan, False) == "-"


def test_a_board_has_a_page_with_figures_winners_and_costs(tmp_path, records, numbers):
    made = boards.pages(tmp_path, records)
    assert {*made} == {"index", "leaderboard", "which_mechanism"}
    page = made["leaderboard"]
    for figure in re.findall(r"figures/([\w-]+\.png)", page):
        assert (tmp_path / "figures" / figure).read_bytes().startswith(b"\x89PNG")
    for board in ("", "-delta", "-reads"):
        assert f"figures/cross-leaderboard{board}.png" in page
    assert "cross-leaderboard-pure-costs.png" in page
    assert page.index("## Pure ε") < page.index("## (ε, δ)") < page.index("## Reads the data")
    for who in numbers["who"].unique():
        assert f"[`{who}`](../mechanisms/" in page
    assert "out of reach after 4 trials" in page
    assert "not audited" in page
    table = winners_table(records)
    assert all(f"`{one.who}` {one.regret_text}" in table for one in winners("cross/leaderboard", numbers)[:4])
    assert "No board is on record yet" in boards.pages(tmp_path, tmp_path / "empty")["index"]


def test_compare_prints_the_record(monkeypatch, numbers, records):
    from dpbench.storage import record

    read = record.read
    monkeypatch.setattr(module, "recorded", lambda name, _=None: numbers if name == "cross/leaderboard" else None)
    monkeypatch.setattr(record, "read", lambda name, _=None: read(name, records))
    out = Console(file=io.StringIO(), width=200)
    recorded_boards.print_record(out, None)
    recorded_boards.print_record(out, "cross/leaderboard")
    text = out.file.getvalue()
    assert "counts of columns" in text
    assert "out of reach after 4 trials" in text
    with pytest.raises(UserError, match="cross/topk is not on record: expected cross/leaderboard"):
        recorded_boards.print_record(out, "cross/topk")
    with pytest.raises(UserError, match="cross/leaderboard"):
        recorded_boards.print_record(out, "cross/leaderbord")


def test_record_takes_no_other_option(dpbench):
    done = dpbench("compare", "--record", "--scale", "laptop")
    assert done.returncode == 2
    assert "--record shows what is on record" in done.stderr


def test_paths_of_files_reach_the_boards_of_real_data(dpbench, tmp_path):
    done = dpbench("reproduce", "cross/leaderboard", "--path", f"kos={tmp_path}")
    assert done.returncode == 2
    assert "has no effect: no experiment on original files reads kos" in done.stderr
    done = dpbench("reproduce", "cross/real", "--path", "kos")
    assert "expected DATASET=PATH" in done.stderr


@pytest.mark.parametrize("column", ["regret_at", "mark", "seconds"])
def test_a_record_that_is_no_board_is_refused(tmp_path, run, numbers, column):
    """Its seal is valid: somebody wrote it by hand."""
    for folder, table in (
        (tmp_path / "a", numbers.drop(columns=column)),
        (tmp_path / "b", numbers.assign(seconds="long")),
    ):
        write(take(run, table, seconds=1.0, memory=None), table, folder)
        with pytest.raises(UserError, match=rf"no board .*'{column if folder.name == 'a' else 'seconds'}'"):
            recorded("cross/leaderboard", folder)
