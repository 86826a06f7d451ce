"""The speed table: what could not be measured is neither held nor missed."""

from __future__ import annotations

import itertools

import pytest

from dpbench.bench import BENCHES, harness
from dpbench.bench.base import FloorRow, ratios
from dpbench.cli import main


@pytest.fixture(autouse=True)
def nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command takes 1 s and another 0.1 ms per trial."""

    def costs(folder: str, *words: str) -> tuple[float, float]:
        trials = next((word for word in words if word.startswith("trials=")), "trials=0")
        return 1 + 1e-4 * 2 * int(trials.removeprefix("trials=")), 200.0

    monkeypatch.setattr(harness, "_command", costs)


def test_without_benchopt_its_row_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "_benchopt_seconds", lambda: None)
    one_more, *_, theirs = harness.harness()
    assert one_more.held is True
    assert one_more.measured == "0.100 ms"
    assert theirs.held is None
    main(["bench", "harness"])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "600 trivial" in line]
    assert "not measured" in line
    assert "yes" not in line


@pytest.mark.parametrize(("seconds", "held"), [(3.2, True), (3.1, False)])
def test_the_floor_is_a_third_of_benchopts_time(monkeypatch: pytest.MonkeyPatch, seconds: float, held: bool) -> None:
    monkeypatch.setattr(harness, "_benchopt_seconds", lambda: seconds)
    assert list(harness.harness())[-1].held is held


def test_one_slow_run_does_not_make_a_further_trial_cost_less_than_nothing() -> None:
    sizes = (200, 2_000, 20_000, 100_000)
    times = [1 + 1e-4 * size for size in sizes]
    for slow in range(4):
        delayed = [time + (5 if at == slow else 0) for at, time in enumerate(times)]
        assert harness.slope(sizes, delayed) > 0
    assert harness.slope(sizes, times) == pytest.approx(1e-4)


def test_a_ratio_is_the_median_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    times = itertools.chain.from_iterable([(2.0, 1.0), (9.0, 3.0), (2.0, 2.0)])
    monkeypatch.setattr("dpbench.bench.base.seconds", lambda call, repeat: next(times))
    ratio, text = ratios(lambda: None, lambda: None, repeat=3)
    assert ratio == 2.0
    assert "1.00 to 3.00" in text


@pytest.mark.parametrize(("rows", "status"), [((None,), 1), ((True, None), 0), ((True, False), 1)])
def test_a_bench_that_measured_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, rows: tuple[bool | None, ...], status: int
) -> None:
    monkeypatch.setitem(BENCHES, "startup", lambda: [FloorRow("x", "1 s", "2 s", held) for held in rows])
    assert main(["bench", "startup"]) == status
