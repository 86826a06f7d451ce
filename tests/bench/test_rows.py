"""The speed table: what could not be measured is neither held nor missed."""

from __future__ import annotations

import pytest

from dpbench.bench import BENCHES, harness
from dpbench.bench.base import FloorRow
from dpbench.cli import main


def test_without_benchopt_its_row_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "_command", lambda *words: 0.01)
    monkeypatch.setattr(harness, "_benchopt_seconds", lambda: None)
    trivial, theirs = harness.harness()
    assert trivial.held is True
    assert theirs.held is None
    assert main(["bench", "harness"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "600 trivial" in line]
    assert "not measured" in line
    assert "yes" not in line


@pytest.mark.parametrize(("seconds", "held"), [(0.031, True), (0.029, False)])
def test_the_floor_is_a_third_of_benchopts_time(monkeypatch: pytest.MonkeyPatch, seconds: float, held: bool) -> None:
    monkeypatch.setattr(harness, "_command", lambda *words: 0.01)
    monkeypatch.setattr(harness, "_benchopt_seconds", lambda: seconds)
    assert list(harness.harness())[1].held is held


@pytest.mark.parametrize(("rows", "status"), [((None,), 1), ((True, None), 0), ((True, False), 1)])
def test_a_bench_that_measured_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, rows: tuple[bool | None, ...], status: int
) -> None:
    monkeypatch.setitem(BENCHES, "startup", lambda: [FloorRow("x", "1 s", "2 s", held) for held in rows])
    assert main(["bench", "startup"]) == status
