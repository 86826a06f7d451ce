"""The displays of progress: lines in a log, a bar in a terminal, and the time left. For a notebook see tests/api."""

from __future__ import annotations

import io

from rich.console import Console

from dpbench.engine.progress import EVERY, Display, Left, Log, display


def log(out: io.StringIO) -> Log:
    return Log(Console(file=out, width=20))


def on_terminal(out: io.StringIO) -> Display:
    shown = display(console=Console(file=out, force_terminal=True, width=120))
    assert isinstance(shown, Display)
    return shown


def test_one_line_per_minute_with_the_time_left():
    out, now = io.StringIO(), 0.0
    lines = log(out)
    lines.start("3 experiments", 10_000, Left(10_000, clock=lambda: now))
    lines.count(4000)  # found finished
    for step in range(1, 601):
        now = step * 0.5
        lines.count(5)  # 600 trials per minute
    said = out.getvalue().splitlines()
    assert len(said) == int(300 / EVERY)
    assert said[0] == "3 experiments: 4,600 of 10,000 trials, about 9 minutes left"
    assert said[-1] == "3 experiments: 7,000 of 10,000 trials, about 5 minutes left"


def test_few_slow_trials_do_not_make_an_estimate():
    """Twenty trials of six million columns in a minute, and a hundred thousand small ones to come."""
    out, now = io.StringIO(), 0.0
    lines = log(out)
    lines.start("3 experiments", 100_000, Left(100_000, clock=lambda: now))
    now = EVERY
    lines.count(20)
    assert out.getvalue().splitlines() == ["3 experiments: 20 of 100,000 trials"]


def test_the_time_left_follows_what_trials_cost():
    """A thousand trials of two seconds first, then 100,000 of a millisecond: after half of the slow ones, half is done."""
    out, now = io.StringIO(), 0.0
    lines = log(out)
    lines.start("2 experiments", 101_000, Left(2100, clock=lambda: now))
    for step in range(1, 501):
        now = 2.0 * step
        lines.count(1, 2.0)
    assert out.getvalue().splitlines()[-1] == "2 experiments: 480 of 101,000 trials, about 19 minutes left"


def test_what_was_expected_tempers_the_first_trials():
    """Expected: 200 minutes. The first tenth of it takes twice as long, because the slowest trials are first."""
    now = 0.0
    left = Left(100.0, expected=12_000.0, clock=lambda: now)
    assert left.describe() == "about 200 minutes left"
    now = 2400.0
    left.advance(10)
    assert left.describe() == "about 231 minutes left"  # not 360


def test_finished_trials_shorten_what_was_expected():
    left = Left(100.0, expected=12_000.0, clock=lambda: 0.0)
    left.advance(75)
    assert left.describe() == "about 50 minutes left"
    left.advance(24.5)
    assert left.describe() == "about a minute left"
    left.advance(0.3)
    assert left.describe() == "less than a minute left"


def test_a_short_run_says_nothing():
    out = io.StringIO()
    with display(console=Console(file=out)) as shown:
        shown.start("gs/fig9", 100)
        shown.count(100)
        shown.status("two workers")
    assert out.getvalue() == ""


def test_a_log_has_what_is_built_and_warnings_in_whole_lines():
    out = io.StringIO()
    with log(out) as shown:
        shown.prepare("building netflix")
        shown.say("results/trials/[0a] is damaged or foreign")
    assert out.getvalue().splitlines() == ["building netflix", "results/trials/[0a] is damaged or foreign"]


def test_a_terminal_has_a_bar():
    out = io.StringIO()
    with on_terminal(out) as shown:
        shown.prepare("building netflix")
        shown.say("a file is damaged")
        shown.start("gs/fig9", 100)
        shown.status("two workers")
        shown.count(100)
    for words in ("a file is damaged", "gs/fig9, two workers", "100/100"):
        assert words in out.getvalue()


def test_a_bar_counts_trials_and_fills_by_cost():
    out = io.StringIO()
    with on_terminal(out) as shown:
        shown.start("2 experiments", 10, Left(50))
        shown.count(3, 50.0)
    assert "3/10" in out.getvalue()


def test_a_program_shows_nothing():
    with display(False) as shown:
        shown.say("a file is damaged")
    assert not isinstance(shown, Display)
