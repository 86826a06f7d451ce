"""Growth: the exponent is that of the cost, and a quadratic step is seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpbench.bench import growth
from dpbench.bench.growth import GROWTH, LINEAR, Growth, GrowthPoint
from dpbench.cli import main


def curve(power: float, fixed: float = 5e-4, unit: float = 1e-8) -> list[GrowthPoint]:
    return [GrowthPoint("f", "m", "rows", 10**k, fixed + unit * 10 ** (k * power), 1.0) for k in range(3, 8)]


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_the_exponent_is_that_of_the_cost(power: float) -> None:
    assert growth.exponent(curve(power)) == pytest.approx(power, abs=0.1)


def test_what_takes_no_time_has_no_exponent_but_what_suddenly_does_has() -> None:
    assert growth.exponent(curve(1.0, unit=1e-12)) is None
    sudden = [GrowthPoint("f", "m", "rows", size, seconds, 1.0) for size, seconds in ((10**4, 1e-4), (10**5, 1e-2))]
    assert growth.exponent(sudden) == pytest.approx(2.0)


def test_a_quadratic_step_misses_the_floor() -> None:
    each = GROWTH[0]
    assert each.most == LINEAR
    assert growth.floor_row(each, curve(1.0)).held is True
    assert growth.floor_row(each, curve(2.0)).held is False


@pytest.mark.parametrize("each", GROWTH, ids=lambda each: f"{each.mechanism} {each.axis}")
def test_every_curve_can_be_measured(each: Growth) -> None:
    first = next(growth.measure(each, 10**8))
    assert (first.size, first.mechanism) == (each.sizes[0], each.mechanism)
    assert first.megabytes > 0


def test_what_is_stored_is_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def curves(largest: int) -> Iterator[tuple[Growth, list[GrowthPoint]]]:
        assert largest == 10**8
        yield GROWTH[0], curve(1.0)

    monkeypatch.setattr(growth, "curves", curves)
    assert main(["bench", "--growth", str(tmp_path / "growth.csv")]) == 0
    stored = growth.read(tmp_path / "growth.csv")
    assert [point.size for point in stored] == [point.size for point in curve(1.0)]
    assert [point.seconds for point in stored] == pytest.approx([point.seconds for point in curve(1.0)], rel=0.01)


def test_growth_takes_no_names_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gs", "--growth", str(tmp_path / "growth.csv")]) == 2
    assert "no names of rows" in capsys.readouterr().err
