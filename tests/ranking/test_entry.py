"""A mechanism is put on the board of its guarantee, by name or as an object, on named data or on data of the program."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import dpbench
from dpbench import Counts, Incidence, Mechanism
from dpbench.errors import UserError
from dpbench.model.run import Dataset
from dpbench.ranking.boards import Board
from dpbench.ranking.entry import Where, board_of, experiment_of, experiment_of_data, newcomer

DATA = Incidence.from_rows([[i % 7, (i * i) % 11, 11 + i % 9] for i in range(300)], columns=20)


@dataclass(frozen=True, kw_only=True)
class Twice(Mechanism):
    """Twice the noise that a row of three needs."""

    def publish(self, data, epsilon, noise):
        return Counts(counts=noise.laplace(data.counts, scale=6 / epsilon))


@pytest.mark.parametrize(
    ("given", "board", "experiment"),
    [
        ("lpa", Board.PURE, "cross/leaderboard"),
        ("lpa(bound=3)", Board.PURE, "cross/leaderboard"),
        ("gs_mean", Board.READS, "cross/leaderboard"),
        ("gaussian_correlated", Board.APPROXIMATE, "cross/leaderboard"),
        ("filter", Board.READS, "cross/ranges"),
        ("gshm", Board.APPROXIMATE, "cross/ranges"),
        ("joint_topk", Board.PURE, "cross/topk"),
    ],
)
def test_the_board_of_a_mechanism(given, board, experiment):
    variant = newcomer(given)
    assert (board_of(variant), experiment_of(variant)) == (board, experiment)
    assert variant.declared == (("bound",) if given == "lpa" else ())


def test_an_object_on_data_of_the_program(tmp_path):
    """Its error is twice that of LPA with the right bound, which is on the board with the bound that is declared here."""
    settings = {"results": tmp_path, "jobs": 1, "overrides": {"trials": 6}, "epsilon": 1.0, "audit": False}
    found = dpbench.compare(Twice(), dataset={"mine": DATA}, bound=3, **settings)
    assert repr(found).startswith(
        "Comparison(Twice on the board pure ε; Run(compare/Twice-on-mine-bound3-epsilon1.0 at"
    )
    ranking = found.ranking().set_index("mechanism")
    assert ranking.loc["Twice", "regret"] > ranking.loc["lpa", "regret"]
    assert set(ranking["board"]) == {"pure ε"}
    shown = found._repr_html_()
    assert "<th>regret</th>" in shown
    assert shown.endswith(found.run._repr_html_())
    assert (found.who, found.board) == ("Twice", Board.PURE)
    numbers = found.numbers().set_index("who")
    assert set(numbers["board"]) == {"pure ε"}
    assert numbers.loc["Twice", "mae"] / numbers.loc["lpa", "mae"] == pytest.approx(2, rel=0.5)
    assert found.figure().get_size_inches()[0] == 7


@pytest.mark.parametrize(
    ("where", "experiment"),
    [
        (Where(datasets=["netflix"]), "cross/leaderboard"),
        (Where(datasets=["gowalla"]), "cross/leaderboard"),
        (Where(datasets=["census", "adult"]), "cross/ranges"),
        (Where(datasets=["nosuch"]), "cross/leaderboard"),
        (Where(datasets=["table"], overrides={"dataset.table.kind": "contingency"}), "cross/ranges"),
        (Where(given=(Dataset("mine", "given", kind="contingency"),)), "cross/ranges"),
    ],
)
def test_without_a_mechanism_the_data_decides_the_board(where, experiment):
    assert experiment_of_data(where) == experiment


def test_nonsense_is_refused(tmp_path):
    with pytest.raises(UserError, match="bound=3 has no effect without a data object"):
        dpbench.compare("lpa", bound=3, results=tmp_path)
    with pytest.raises(UserError, match="expected names or data objects, not both"):
        dpbench.compare("lpa", dataset=["netflix", DATA], results=tmp_path)
    with pytest.raises(UserError, match="is not valid: expected a name, or an object with `release`"):
        dpbench.compare(3, results=tmp_path)
