"""Which runs on original files `claims --run` makes: of the paper's own data, and of the panels that claims name."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.claims.ledger import ledger
from dpbench.claims.original_files import of_the_papers, runs_on_files


def test_movielens_is_the_papers_own_and_samples_of_others_are_not() -> None:
    assert of_the_papers("movielens")
    assert not any(map(of_the_papers, ("gowalla", "foursquare", "adult", "onthemap", "kos", "nobody's")))


@pytest.mark.parametrize(
    ("fetched", "expected"),
    [
        (set(), set()),
        ({"kos"}, {("analytics/real", None)}),
        (
            {"movielens"},
            {("analytics/real", None)}
            | {(f"analytics/{name}", "movielens") for name in ("fig7", "fig8", "fig9", "fig10", "table4", "table5")},
        ),
    ],
)
def test_only_files_that_are_here_are_run_on(
    fetched: set[str], expected: set[tuple[str, str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def place(name: str) -> Path | None:
        return Path(name) if name in fetched else None

    monkeypatch.setattr("dpbench.sources.cards.fetched", place)
    found = set(runs_on_files(ledger(["analytics"])))
    assert found == expected


def test_every_movielens_claim_can_be_decided_on_its_files() -> None:
    """By its experiment on the files, or by a panel of original files that it names."""
    about = [c for c in ledger(["analytics"]) if c.experiment and "movielens" in str(c.where)]
    assert len(about) > 20
    tables = ("analytics/table4", "analytics/table5", "analytics/fig10")
    assert {c.id for c in about if not c.also and c.experiment not in tables} == set()
