"""Boards: mechanisms are ranked only among those with the same guarantee. Defines the board and the name of each setting.

They come from a stored run, or from the labels of trials. Imported by plotting scripts, the report and the `compare` verb.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpbench.config import catalogue
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.run import UNSTATED, Run, Setting
from dpbench.model.setting import DECLARED

if TYPE_CHECKING:
    import pandas as pd


LABELS = ("dataset", "place", "world", "epsilon", "share", "K")
"""The columns that may make a setting of a board."""
PREFIX = "mechanism."
"""Prefix of the labels that hold a mechanism's parameters."""


class Board(StrEnum):
    """A guarantee under which mechanisms may be ranked against each other."""

    PURE = "pure ε"
    APPROXIMATE = "(ε, δ)"
    READS = "reads the data"

    @property
    def told(self) -> str:
        """What all mechanisms of this board have in common."""
        return {
            Board.PURE: "pure ε: every parameter is declared or chosen privately",
            Board.APPROXIMATE: "(ε, δ): every parameter is declared or chosen privately",
            Board.READS: "reads the data: bounds or parameters taken from the data, or no guarantee stated; not private",
        }[self]

    @property
    def slug(self) -> str:
        """The board as part of a file name."""
        return {Board.PURE: "pure", Board.APPROXIMATE: "delta", Board.READS: "reads"}[self]


PRIVATE = (Board.PURE, Board.APPROXIMATE)


def board(guarantee: str, private: bool) -> Board:
    """The board for a guarantee; releases that do not keep their guarantee have a separate board."""
    if not private:
        return Board.READS
    return Board.PURE if guarantee == "ε" else Board.APPROXIMATE


def board_of(setting: Setting) -> Board:
    return board(setting.guarantee, setting.private)


@dataclass(frozen=True)
class Entrant:
    """A mechanism with its parameters, as it takes part in one setting."""

    board: Board
    mechanism: str
    parameters: Mapping[str, str]
    neighbours: str = ""
    """What one individual may change."""


EntrantKey = tuple[str, str]
"""A setting's id, and the name of the mechanism: one mechanism under two names has one id, and the same trials."""


def entrants(run: Run) -> dict[EntrantKey, Entrant]:
    """The entrant of every setting of a run."""
    return {
        (setting.id, setting.mechanism.name): Entrant(
            board_of(setting), setting.mechanism.name, _parameters(setting), setting.neighbours or "not stated"
        )
        for setting in run.settings
    }


def entrants_by_labels(trials: pd.DataFrame) -> dict[EntrantKey, Entrant]:
    """The same from the labels of trials alone, with the guarantees that installed mechanisms state."""
    columns = [column for column in trials.columns if column.startswith(PREFIX)]
    entrants = {}
    for row in trials.drop_duplicates("setting").to_dict("records"):
        # None, or a parameter of another mechanism, is empty in a table.
        held = {column.removeprefix(PREFIX): row[column] for column in columns}
        given = {name: value for name, value in held.items() if value is not None and value == value}
        entry = catalogue.mechanism(str(row["mechanism"]))
        valid = MECHANISMS.parameters(entry.cls)
        fields = {name: _plain(value) for name, value in given.items() if valid is None or name in valid}
        known = {name: value for name, value in {**entry.params, **fields}.items() if not isinstance(value, list)}
        mechanism = MECHANISMS.make(entry.cls, **{k: 1 if v == DECLARED else v for k, v in known.items()})
        shown = {name: str(value) for name, value in fields.items()}
        neighbours = str(getattr(mechanism, "neighbours", "") or "not stated")
        key = str(row["setting"]), str(row["mechanism"])
        entrants[key] = Entrant(board_of_mechanism(mechanism), key[1], shown, neighbours)
    return entrants


def _plain(value: Any) -> Any:
    """A number from a table as a parameter: an integer if it is a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def board_of_mechanism(mechanism: Any) -> Board:
    """The board of an object, by the guarantee it states."""
    declares = getattr(mechanism, "not_private", None)
    guarantee = str(getattr(mechanism, "privacy", "") or UNSTATED)
    return board(guarantee, not (callable(declares) and declares()) and guarantee not in (UNSTATED, "none"))


def names(entrants: Mapping[EntrantKey, Entrant]) -> dict[EntrantKey, str]:
    """The name of every setting's entrant. Variants of one mechanism on one board are distinguished by their parameters."""
    alike: dict[tuple[Board, str], list[Entrant]] = {}
    for entrant in entrants.values():
        alike.setdefault((entrant.board, entrant.mechanism), []).append(entrant)
    values: dict[tuple[Board, str], dict[str, set[str]]] = {}
    for at, those in alike.items():
        given = dict.fromkeys(name for entrant in those for name in entrant.parameters)
        # A parameter that is not given is None, which tables cannot represent.
        values[at] = {name: {str(entrant.parameters.get(name)) for entrant in those} for name in given}
    return {key: _name(entrant, values[entrant.board, entrant.mechanism]) for key, entrant in entrants.items()}


def _name(entrant: Entrant, values: Mapping[str, set[str]]) -> str:
    shown = [f"{name}={entrant.parameters.get(name)}" for name, several in values.items() if len(several) > 1]
    return entrant.mechanism + (f"[{', '.join(shown)}]" if shown else "")


def _parameters(setting: Setting) -> dict[str, str]:
    declared = setting.mechanism.declared
    return {name: DECLARED if name in declared else str(value) for name, value in setting.mechanism.params.items()}


def places(trials: pd.DataFrame, run: Run | None, *, apart: Sequence[str] = ()) -> pd.DataFrame:
    """One row per setting and mechanism: `setting`, `mechanism`, `board`, `who` and `neighbours`. Of a run also the settings that
    have no trial. apart: parameters that are left out of the name."""
    import pandas as pd

    known = {
        key: replace(entrant, parameters={k: v for k, v in entrant.parameters.items() if k not in apart})
        for key, entrant in (entrants_by_labels(trials) if run is None else entrants(run)).items()
    }
    called = names(known)
    return pd.DataFrame(
        {
            "setting": [setting for setting, _ in known],
            "mechanism": [mechanism for _, mechanism in known],
            "board": [str(entrant.board) for entrant in known.values()],
            "who": [called[key] for key in known],
            "neighbours": [entrant.neighbours for entrant in known.values()],
        }
    )


def boarded(trials: pd.DataFrame, at: pd.DataFrame) -> pd.DataFrame:
    """The trials with the columns of `places`. Trials of one mechanism under two names occur twice, once under each."""
    return trials.drop(columns="mechanism").merge(at, on="setting", how="left", sort=False)


def present(names: Iterable[str]) -> list[Board]:
    """The boards with these names, in our order."""
    wanted = set(names)
    return [board for board in Board if str(board) in wanted]
