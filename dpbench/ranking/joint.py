"""Boards of the record with the entries of a folder among them, ranked by the same statistics.

Reads condensed trials (`condensed`), so nothing is run. An entry whose board is not on record at its scale is ranked among the
rivals that it was run with. Imported by the verb `board` and by the site that it publishes.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from dpbench.figures.draw import load_script
from dpbench.paths import EXPERIMENTS, RECORD
from dpbench.ranking import condensed, tables
from dpbench.ranking.boards import Board
from dpbench.ranking.pairwise import Samples
from dpbench.ranking.rows import BOARDS, BoardRow, recorded, rows
from dpbench.ranking.standings import in_order, judge, regrets, standings
from dpbench.ranking.submission import MARKS, Entry, numbers_of
from dpbench.ranking.views import View
from dpbench.storage import record

ON_RECORD, AS_RUN = "on record", "of dpbench"
STANDING = "samples"


@dataclass(frozen=True)
class JointBoard:
    """The boards of one experiment at one scale."""

    experiment: str
    scale: str
    rows: tuple[BoardRow, ...]
    """By guarantee, the best first."""
    origins: tuple[str, ...] = ()
    """Where the data comes from; empty if only entries say so."""
    expectations: str = ""

    @property
    def title(self) -> str:
        return f"{BOARDS[self.experiment]}, {self.scale} size"

    @property
    def boards(self) -> list[Board]:
        return [*dict.fromkeys(row.board for row in self.rows)]


def view_of(experiment: str) -> View:
    """How a board of ours is judged."""
    view: View = load_script(EXPERIMENTS / f"{experiment}.py").BOARD
    return view


@functools.cache
def recorded_at(experiment: str, scale: str, folder: Path = RECORD) -> pd.DataFrame | None:
    """The numbers of a board on record at this scale that others can be ranked among; None if there are none. Records of
    earlier versions lack what that needs."""
    kept, numbers = record.read(experiment, folder), recorded(experiment, folder)
    fits = kept is not None and kept.scale == scale and numbers is not None and STANDING in numbers
    return numbers if fits else None


def joint_boards(entries: Sequence[Entry], folder: Path = RECORD) -> list[JointBoard]:
    """Every board on record, and every board that has entries, in our order."""
    boards = []
    for experiment in BOARDS:
        kept = record.read(experiment, folder)
        scales = [kept.scale] if kept is not None else []
        scales += sorted({entry.scale for entry in entries if entry.experiment == experiment} - {*scales})
        for scale in scales:
            own = [entry for entry in entries if (entry.experiment, entry.scale) == (experiment, scale)]
            shown = kept if kept is not None and kept.scale == scale else None
            base = recorded_at(experiment, scale, folder)
            if shown is not None and (base is None or not own):
                numbers = recorded(experiment, folder)
                assert numbers is not None
                boards.append(_board(experiment, scale, numbers, {}, shown.origins))
            if own and (base is not None or shown is None):
                numbers, by_who = joined(experiment, base, own)
                boards.append(_board(experiment, scale, numbers, by_who, shown.origins if shown else ()))
            elif own:  # the record cannot be joined: a board of its own
                numbers, by_who = joined(experiment, None, own)
                boards.append(_board(experiment, scale, numbers, by_who, ()))
    return boards


def _board(
    experiment: str, scale: str, numbers: pd.DataFrame, by_who: Mapping[tuple[str, str], Entry], origins: Iterable[str]
) -> JointBoard:
    own = []
    for row in rows(experiment, numbers):
        entry = by_who.get((str(row.board), row.who))
        if entry is not None:
            row = replace(row, status=entry.mark, because=entry.because, command=entry.command, audit=entry.audit)
        else:
            words = ["run", f"experiment={experiment}", f"scale={scale}", f"mechanism=[{row.mechanism}]"]
            command = shlex.join(["python", "-m", "dpbench", *words])
            row = replace(row, status=ON_RECORD if origins else AS_RUN, command=command)
        own.append(row)
    return JointBoard(experiment, scale, tuple(own), tuple(origins), tables.expectations(numbers))


def joined(
    experiment: str, base: pd.DataFrame | None, entries: Sequence[Entry]
) -> tuple[pd.DataFrame, dict[tuple[str, str], Entry]]:
    """The numbers of a board with the entries on it, and which mechanism of which board is which entry."""
    view = view_of(experiment)
    by_who: dict[tuple[str, str], Entry] = {}
    parts: list[pd.DataFrame] = []
    taken: set[tuple[str, str]] = set()
    entries = sorted(entries, key=lambda entry: [*MARKS].index(entry.mark))  # the rivals of the best known ones count
    if base is not None:
        parts.append(base)
        taken = {*zip(base["board"], base["who"], strict=True)}
    for entry in entries:
        _, rivals = numbers_of(entry)
        if base is None and len(rivals):
            new = [(entry.board, who) not in taken for who in rivals["who"]]
            parts.append(rivals[new].assign(board=entry.board))
            taken |= {(entry.board, who) for who in rivals["who"]}
    for entry in entries:
        own, _ = numbers_of(entry)
        who = str(own["who"].iloc[0])
        if (entry.board, who) in taken:  # somebody else has the name
            who = f"{who} ({entry.called})"
        taken.add((entry.board, who))
        by_who[entry.board, who] = entry
        common = entry.data.keys() & entries[0].data.keys()  # datasets of one name with other content are foreign
        same = all(entry.data[name] == entries[0].data[name] for name in common)
        foreign = "" if same else "foreign: its data differ from those of other entries"
        parts.append(own.assign(board=entry.board, who=who, mark=entry.problem or foreign or own.get("mark", "")))
    numbers = pd.concat(parts, ignore_index=True)
    by = [view.by[0], *(["world"] if "world" in numbers else []), *view.by[1:]]
    kept = [*dict.fromkeys(("board", *by, "who", "mechanism", "trials", "seconds", "memory", "samples", "neighbours"))]
    kept += [
        name for name in ("mark", "audit", "stopped", "world", "precision") if name in numbers and name not in kept
    ]
    kept += [str(name) for name in numbers if str(name).startswith(tables.SPLIT)]
    numbers = numbers[[name for name in kept if name in numbers]].assign(
        mark=numbers["mark"].fillna("") if "mark" in numbers else ""
    )
    if "world" in by:
        numbers = numbers.assign(world=numbers["world"].fillna(""))
    if next(iter(view.measures.values())).share:
        numbers["precision"] = np.nan  # says that regrets are differences
    return _judged(_on_board(numbers, by, len(by_who)), view, by), by_who


def _on_board(numbers: pd.DataFrame, by: Sequence[str], entered: int) -> pd.DataFrame:
    """Without settings that only entries have: all other mechanisms did not run there, and would lose their ranks."""
    keys = ["board", *by]
    sizes = numbers.groupby(keys, dropna=False)["who"].transform("nunique")
    most = numbers.groupby("board")["who"].transform("nunique")
    return numbers[(sizes > entered) | (most <= entered)].reset_index(drop=True)


def _judged(numbers: pd.DataFrame, view: View, by: Sequence[str]) -> pd.DataFrame:
    """The numbers with ranks and regrets among all of them. Mechanisms with a violation or failed trials are not compared."""
    measure = next(iter(view.measures.values()))
    parts = []
    for board, own in numbers.groupby("board", sort=False):
        barred = own["mark"].str.contains("violated|failed|foreign", regex=True)
        fair = own[own["samples"].notna() & (own["samples"] != "") & ~barred]
        settings: list[tuple[tuple[Hashable, ...], Samples]] = []
        by_mechanism: dict[str, list[condensed.Condensed]] = {}
        gone: dict[tuple[Hashable, ...], set[str]] = {}
        for key, group in fair.groupby(list(by), sort=False, dropna=False):
            setting = key if isinstance(key, tuple) else (key,)
            draws = {str(who): condensed.parse(text) for who, text in zip(group["who"], group["samples"], strict=True)}
            samples = condensed.samples_of(measure.at(dict(zip(by, setting, strict=True))), draws)
            if not samples.scores[0]:
                continue
            settings.append((setting, samples))
            for who, condensed_draws in draws.items():
                by_mechanism.setdefault(who, []).append(condensed_draws)
            if "stopped" in group:
                gone[setting] = set(group.loc[group["stopped"].eq(True), "who"])
        if not settings:
            parts.append(own)
            continue
        heavy = frozenset[str]() if measure.share else condensed.heavy(by_mechanism)
        judged = [
            replace(standing, stopped=frozenset(gone.get(standing.setting, ()))) for standing in judge(settings, heavy)
        ]
        ranked = tables.Ranked(
            Board(board), measure, tuple(judged), standings(judged, measure, by=by), regrets(judged, measure)
        )
        merged = tables.with_standing(own.drop(columns=["samples", "stopped"], errors="ignore"), ranked, by)
        tail = merged["heavy"].eq(True) & ~merged["mark"].str.contains("heavy tails")
        heavy_tails = tail.map({True: "heavy tails", False: ""})
        marks = ("; ".join(filter(None, pair)) for pair in zip(merged["mark"], heavy_tails, strict=True))
        parts.append(merged.assign(mark=[*marks]))
    return tables.by_board(in_order(pd.concat(parts, ignore_index=True)))
