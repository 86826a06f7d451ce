"""Progress in a log, where there is no terminal."""

from __future__ import annotations

import io

from rich.console import Console

from dpbench.cli.progress import EVERY, Left, Lines, preparing, progress_bar


def test_one_line_per_minute_with_the_time_left():
    said: list[str] = []
    now = 0.0
    lines = Lines("3 experiments", 10_000, said.append, Left(10_000, clock=lambda: now))
    lines.advance(4000)  # found finished
    for step in range(1, 601):
        now = step * 0.5
        lines.advance(5)  # 600 trials per minute
    assert len(said) == int(300 / EVERY)
    assert said[0] == "3 experiments: 4,600 of 10,000 trials, about 9 minutes left"
    assert said[-1] == "3 experiments: 7,000 of 10,000 trials, about 5 minutes left"


def test_few_slow_trials_do_not_make_an_estimate():
    """Twenty trials of six million columns in a minute, and a hundred thousand small ones to come."""
    said: list[str] = []
    now = 0.0
    lines = Lines("3 experiments", 100_000, said.append, Left(100_000, clock=lambda: now))
    now = EVERY
    lines.advance(20)
    assert said == ["3 experiments: 20 of 100,000 trials"]


def test_the_time_left_follows_what_trials_cost():
    """A thousand trials of two seconds first, then 100,000 of a millisecond: after half of the slow ones, half is done."""
    said: list[str] = []
    now = 0.0
    lines = Lines("2 experiments", 101_000, said.append, Left(2100, clock=lambda: now))
    for step in range(1, 501):
        now = 2.0 * step
        lines.advance(1, 2.0)
    assert said[-1] == "2 experiments: 480 of 101,000 trials, about 19 minutes left"


def test_what_was_expected_tempers_the_first_trials():
    """Expected: 200 minutes. The first tenth of it takes twice as long, because the slowest trials are first."""
    now = 0.0
    left = Left(100.0, expected=12_000.0, clock=lambda: now)
    assert left.told() == "about 200 minutes left"
    now = 2400.0
    left.advance(10)
    assert left.told() == "about 231 minutes left"  # not 360


def test_finished_trials_shorten_what_was_expected():
    left = Left(100.0, expected=12_000.0, clock=lambda: 0.0)
    left.advance(75)
    assert left.told() == "about 50 minutes left"
    left.advance(24.5)
    assert left.told() == "about a minute left"
    left.advance(0.3)
    assert left.told() == "less than a minute left"


def test_a_short_run_says_nothing():
    out = io.StringIO()
    with progress_bar("gs/fig9", 100, Console(file=out)) as (advance, status):
        advance(100)
        status("two workers")
    assert out.getvalue() == ""


def test_a_terminal_has_a_bar():
    out = io.StringIO()
    notes = Console(file=out, force_terminal=True, width=120)
    with preparing(notes) as say:
        say("building netflix")
    with progress_bar("gs/fig9", 100, notes) as (advance, status):
        status("two workers")
        advance(100)
    assert "gs/fig9, two workers" in out.getvalue()
    assert "100/100" in out.getvalue()


def test_a_bar_counts_trials_and_fills_by_cost():
    out = io.StringIO()
    notes = Console(file=out, force_terminal=True, width=120)
    with progress_bar("2 experiments", 10, notes, Left(50)) as (advance, _):
        advance(3, 50.0)
    assert "3/10" in out.getvalue()
