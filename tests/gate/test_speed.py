"""The speed gate, on a clock of the test: no test depends on how fast this machine is."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.errors import UserError
from dpbench.gate import speed
from dpbench.gate.speed import AGAIN, LIMIT, ReleaseTime, ratios, slower

KEY = ("mine/sweep", "noisy")
BEFORE = ReleaseTime("noisy on small", 2.0, 1.9, 2.1)


class Machine:
    """A clock that advances by what a call costs; it becomes slower all the time."""

    def __init__(self, cost: float) -> None:
        self.now, self.cost, self.slowness = 0.0, cost, 1.0

    def spend(self, seconds: float) -> None:
        self.now += seconds * self.slowness
        self.slowness *= 1.001

    def clock(self) -> float:
        return self.now


@pytest.mark.parametrize("cost", [0.0004, 0.01, 0.5])
def test_a_release_is_told_in_loops_also_on_a_machine_that_slows_down(
    monkeypatch: pytest.MonkeyPatch, cost: float
) -> None:
    machine = Machine(cost)
    monkeypatch.setattr(speed, "calibrate", lambda: machine.spend(0.01))
    found = ratios(lambda: machine.spend(cost), machine.clock)
    assert found == pytest.approx([cost / 0.01] * speed.ROUNDS, rel=0.02)


@pytest.mark.parametrize(("factor", "flagged"), [(1.0, False), (LIMIT, False), (1.1 * LIMIT * 2.1 / 1.9, True)])
def test_slower_needs_the_effect(factor: float, flagged: bool) -> None:
    now = ReleaseTime("noisy on small", 2 * factor, 1.9 * factor, 2.1 * factor)
    found = slower({KEY: BEFORE}, {KEY: now}, lambda _: now)
    assert (KEY in found) is flagged


def test_slower_must_be_seen_every_time() -> None:
    slow = ReleaseTime("noisy on small", 9.0, 8.0, 10.0)
    asked: list[object] = []

    def again(key: tuple[str, str]) -> ReleaseTime:
        asked.append(key)
        return BEFORE if len(asked) == AGAIN else slow

    assert slower({KEY: BEFORE}, {KEY: slow}, again) == {}
    assert len(asked) == AGAIN
    assert slower({KEY: BEFORE}, {KEY: slow}, lambda _: slow) == {KEY: slow}


def test_another_setting_is_not_compared() -> None:
    other = ReleaseTime("noisy on large", 90.0, 90.0, 90.0)
    assert slower({KEY: BEFORE}, {KEY: other, ("new", "one"): other}, lambda _: other) == {}


def test_the_file(tmp_path: Path) -> None:
    speed.write(tmp_path, {KEY: BEFORE})
    assert speed.read(tmp_path) == {KEY: BEFORE}
    (tmp_path / speed.FILE).write_text("experiment\nmine\t1\n")
    with pytest.raises(UserError, match="expected the columns experiment, mechanism"):
        speed.read(tmp_path)
    with pytest.raises(UserError, match="check --speed --update"):
        speed.read(tmp_path / "none")
