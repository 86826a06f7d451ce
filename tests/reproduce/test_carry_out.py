"""Which readings and worlds the record of an experiment holds."""

from __future__ import annotations

import pytest

from dpbench.reproduce.carry_out import cases_of


@pytest.mark.parametrize(
    ("experiment", "scale", "words"),
    [
        ("gs/fig9", "paper", {"reading": "all", "world": "all"}),
        ("gs/fig10", "paper", {"reading": "all", "world": "all"}),
        ("gs/fig9", "laptop", {}),  # a look at the figure
        ("gs/readings", "paper", {}),  # it chooses them itself: its figure shows them
        ("epicrec/readings", "paper", {"world": "all"}),
        ("cross/leaderboard", "paper", {}),
    ],
)
def test_a_record_holds_every_reading_and_world(experiment: str, scale: str, words: dict[str, str]) -> None:
    assert cases_of(experiment, scale) == words
