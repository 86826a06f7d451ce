"""Specification curves on made-up rows whose distances and conflicts are known by hand."""

from __future__ import annotations

import math

import matplotlib as mpl
import pandas as pd
import pytest

from dpbench.claims import specification
from dpbench.config.readings import readings
from dpbench.figures.specification import draw, told
from dpbench.model.reading import PrintedNumber

mpl.use("Agg")


def row(number: str, ours: float, printed: float = 1.0, **choices: str) -> dict[str, object]:
    stated = PrintedNumber(number, "", printed, 0.9 * printed, 1.1 * printed)
    off = specification.distance(ours, stated)
    made = {"number": number, "claim": f"p/{number}", "kind": "number", "reading": "r", "chance": math.nan, "off": off}
    made |= {
        "ours": ours,
        "ours_low": ours,
        "ours_high": ours,
        "printed": printed,
        "low": stated.low,
        "high": stated.high,
    }
    return made | {"ratio": ours / printed, "fits": off == 0} | {f"choice {k}": v for k, v in choices.items()}


ROWS = pd.DataFrame(
    [
        row("a", 1.0, factor="small"),
        row("a", 2.2, factor="large"),
        row("b", 1.1 * math.e, factor="small", world="x"),
        row("b", 1.0, factor="large", world="x"),
        row("b", 1.1 * math.e, factor="small", world="y"),
        row("b", 1.0, factor="large", world="y"),
        row("c", 5.5),
    ]
)


def test_the_distance_is_zero_where_it_is_printed_so() -> None:
    number = PrintedNumber("", "", 10, 9, 11)
    assert [specification.distance(x, number) for x in (9, 10, 11)] == [0, 0, 0]
    assert specification.distance(22, number) == pytest.approx(math.log(2))
    assert specification.distance(4.5, number) == pytest.approx(math.log(2))
    assert specification.distance(0, number) == specification.FAR


def test_the_nearest_choice_by_hand() -> None:
    """Small: a is right, b off by 1, c by ln 5. Large: a off by ln 2, b right, c by ln 5. Large is nearer."""
    best = specification.joint(ROWS)
    assert len(best) == 4  # two factors, two worlds
    large = math.sqrt((math.log(2) ** 2 + math.log(5) ** 2) / 3)
    small = math.sqrt((1 + math.log(5) ** 2) / 3)
    assert best["distance"].tolist() == pytest.approx([large, large, small, small])
    assert best["choice factor"].tolist() == ["large", "large", "small", "small"]
    assert best["best"].tolist() == [1, 1, 0, 0]
    assert (best["distance_low"] == best["distance_high"]).all()  # exact numbers have no spread


def test_what_no_choice_satisfies_together() -> None:
    assert specification.conflicts(ROWS) == [("c",), ("a", "b")]
    lines = told(specification.joint(ROWS), specification.conflicts(ROWS))
    assert "no choice gives: c" in lines
    assert "no choice gives together: a and b" in lines


def test_a_curve_is_drawn_and_an_empty_one_says_so() -> None:
    assert len(draw(ROWS, specification.joint(ROWS), specification.conflicts(ROWS)).axes) == 2
    empty = pd.DataFrame()
    assert draw(empty, specification.joint(empty)).texts


UNKNOWNS = {
    "gs": {"sample_factor", "fpa_rho", "world checkin", "world document"},
    "sparse": {"priority_theta", "filter_theta", "tau", "size", "domain", "skew", "imputed", "map_theta"},
    "analytics": {"gs_as_run", "dft_step", "dft_coefficients", "kl_direction", "budget"},
    "sensitivity": {"share", "candidates", "alpha_range"},
    "epicrec": {"relaxation", "rounding"},
}


@pytest.mark.parametrize("paper", UNKNOWNS)
def test_every_unknown_of_the_papers_is_there(paper: str) -> None:
    known = readings(paper)
    names = {unknown.name for unknown in known.unknowns} | {f"world {name}" for name in known.worlds}
    assert names >= UNKNOWNS[paper]
    assert known.printed
