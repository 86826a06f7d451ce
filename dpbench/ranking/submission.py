"""Entries of boards as files: one sealed text file per entry, in a folder `board/` that a pull request can add to.

An entry may come from anybody. Reading one checks its seal, its form, its sizes and its names, and runs nothing; a wrong one is
named and left out. Imported by `verification`, which writes entries, and `joint`, which ranks them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dpbench.config.dataset_entry import SCALES
from dpbench.errors import UserError
from dpbench.identity import digest
from dpbench.model.run import valid_name
from dpbench.model.setting import DECLARED, Value
from dpbench.ranking import condensed
from dpbench.ranking.boards import LABELS, PRIVATE, Board
from dpbench.ranking.rows import BOARDS
from dpbench.storage import seals
from dpbench.storage.files import is_inside, write_atomic

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path("board")
SCHEMA = 1
LARGEST, MOST_ENTRIES, MOST_LINES = 2 << 20, 2000, 20_000
VerificationMark = Literal["verified", "numbers verified", "claimed"]
MARKS: dict[VerificationMark, str] = {
    "verified": "a random sample of its trials was computed again with the same result, and its guarantee held in an audit",
    "numbers verified": "a random sample of its trials was computed again with the same result",
    "claimed": "nobody has computed its trials again",
}
SETTINGS = {
    "leaderboard": ("dataset",),
    "real": ("dataset",),
    "topk": ("dataset", "K"),
    "ranges": ("place", "share"),
    "subsets": ("place", "share"),
    "bounded": ("place", "share"),
}
"""Those that a board must have, beside ε, by the end of its name."""
WORDS = ("who", "mechanism", "dataset", "place", "world", "share", "neighbours", "mark", "samples")
NUMBERS = ("epsilon", "K", "trials", "seconds", "memory")
PART = re.compile(r"share_[a-z]{1,30}")
"""A cause of the squared error."""


@dataclass(frozen=True)
class Entry:
    """One mechanism on one board, with all that its rank needs."""

    schema: int
    experiment: str
    scale: str
    board: str
    """The guarantee: the value of a `Board`."""
    mechanism: str
    """The dotted path of its class, or the name of an installed one."""
    parameters: Mapping[str, Value]
    mark: VerificationMark
    because: str
    """Why the mark is not a better one; empty for `verified`."""
    audit: str
    """What the audit found, in words; empty if it was not audited."""
    violated: bool
    rerun: int
    """Trials that were computed again."""
    trials: int
    """All its trials."""
    code: Mapping[str, str]
    """The modules of its author, each with the digest of its code."""
    installed: str
    """The digest of the code of dpbench that computed it: data, tasks and all that runs in a trial."""
    data: Mapping[str, str]
    """The fingerprint of each dataset, by name, world and seed."""
    version: str
    written: str
    table: tuple[str, ...]
    """Its numbers, one line per setting, columns separated by tabs, the names of the columns first."""
    rivals: tuple[str, ...]
    """The same for the mechanisms that it was compared with; empty if they are on record."""

    @property
    def name(self) -> str:
        """Its file name: what was compared on which board. A new version replaces the old one."""
        what = digest([self.experiment, self.scale, self.board, self.mechanism, dict(self.parameters)], size=4)
        words = re.sub(r"[^\w.-]+", "-", f"{self.experiment.partition('/')[2]}@{self.scale}-{self.mechanism}")
        return f"{words[:120]}-{what}.json"

    @property
    def called(self) -> str:
        """The mechanism with its parameters, as a command takes it."""
        given = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items() if value != DECLARED)
        return f"{self.mechanism}({given})" if given else self.mechanism

    @property
    def command(self) -> str:
        """What computes its numbers again."""
        words = ["compare", self.called, "--experiment", self.experiment, "--scale", self.scale]
        return shlex.join(["python", "-m", "dpbench", *words])

    @property
    def problem(self) -> str:
        """Why it has no rank among private mechanisms, if it is not private."""
        if self.violated:
            return self.audit
        return "" if self.board in PRIVATE else "not private: it reads the data, or states no guarantee"


def write(folder: Path, entry: Entry) -> Path:
    """Store an entry. It is read again first, so that nothing is written that no reader would take."""
    text = seals.seal(seals.plain(entry))
    decode(text.encode())
    path = folder / entry.name
    if folder.is_symlink() or path.is_symlink():
        raise UserError(f"{path} is or goes through a link: links in a board are not followed; remove it")
    write_atomic(path, text.encode())
    return path


def decode(content: bytes) -> Entry:
    """An entry from the bytes of its file. ValueError says what is wrong with it."""
    if len(content) > LARGEST:
        raise ValueError(f"it has {len(content)} bytes: expected at most {LARGEST}")
    entry = seals.decode(Entry, seals.checked(content))
    if entry.schema != SCHEMA:
        raise ValueError("it was written by another version of dpbench")
    if entry.experiment not in BOARDS:
        raise ValueError(f"{entry.experiment[:80]!r} is no board")
    if entry.scale not in SCALES or entry.board not in {*map(str, Board)}:
        raise ValueError(f"{entry.scale[:80]!r} is no scale, or {entry.board[:80]!r} no guarantee")
    if not valid_name(entry.mechanism):
        raise ValueError(f"{entry.mechanism[:80]!r} is not the name of a class")
    if entry.mark == "verified" and (entry.violated or entry.board not in PRIVATE or not entry.rerun):
        raise ValueError("it says verified, and its own facts say otherwise")
    numbers_of(entry)
    return entry


def numbers_of(entry: Entry) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Its numbers and those of its rivals: one row per setting and mechanism. ValueError if they are not what they should be."""
    own, rivals = _frame(entry.table), _frame(entry.rivals)
    if own.empty:
        raise ValueError("it holds no numbers")
    needed = next(labels for kind, labels in SETTINGS.items() if entry.experiment.endswith(kind))
    for frame in (own, rivals):
        if len(frame) and (missing := [name for name in needed if name not in frame]):
            raise ValueError(f"a table of {entry.experiment} has no column {missing[0]}")
        keys = [name for name in (*LABELS, "who") if name in frame]
        if len(frame) and frame.duplicated(keys).any():
            raise ValueError("a table has a setting twice")
    if own["who"].nunique() != 1:
        raise ValueError("it holds the numbers of several mechanisms")
    return own, rivals


def lines_of(numbers: pd.DataFrame) -> tuple[str, ...]:
    """Numbers of a board as lines of text."""
    import pandas as pd

    names = [name for name in numbers if name in (*WORDS, *NUMBERS) or _is_part(numbers, str(name))]
    lines = ["\t".join(names)]
    for row in numbers[names].itertuples(index=False, name=None):
        cells = ["" if pd.isna(cell) else f"{cell:.9g}" if isinstance(cell, float) else str(cell) for cell in row]
        lines.append("\t".join(cells))
    return tuple(lines)


def _is_part(numbers: pd.DataFrame, name: str) -> bool:
    return bool(PART.fullmatch(name)) and not name.endswith(("_se", "_p95")) and numbers[name].notna().any()


def _frame(lines: Iterable[str]) -> pd.DataFrame:
    import pandas as pd

    lines = [*lines]
    if not lines:
        return pd.DataFrame()
    if len(lines) > MOST_LINES or any("\n" in line for line in lines):
        raise ValueError(f"a table has {len(lines)} lines, or a line is two: expected at most {MOST_LINES}")
    names = lines[0].split("\t")
    if len({*names}) < len(names) or any(n not in (*WORDS, *NUMBERS) and not PART.fullmatch(n) for n in names):
        raise ValueError("a table has a column that no board has, or one twice")
    if missing := {"who", "mechanism", "epsilon", "trials", "samples"} - {*names}:
        raise ValueError(f"a table has no column {sorted(missing)[0]}")
    rows = [line.split("\t") for line in lines[1:]]
    if any(len(row) != len(names) for row in rows):
        raise ValueError("a line of a table has more or fewer columns than its head")
    frame = pd.DataFrame(rows, columns=names)
    for name in names:
        if name not in WORDS:
            frame[name] = pd.to_numeric(frame[name].where(frame[name] != ""), errors="raise").astype(float)
    if "K" in frame:
        frame["K"] = frame["K"].astype("int64")  # also refuses a K that is missing
    for text in frame.loc[frame["samples"] != "", "samples"]:
        condensed.parse(text)
    if not all(map(valid_name, frame["mechanism"].unique())):
        raise ValueError("a mechanism has a name that none of ours may have")
    if (frame["who"].str.len() > 200).any() or frame["epsilon"].isna().any() or (frame["epsilon"] <= 0).any():
        raise ValueError("a name is too long, or an ε is missing")
    return frame


@dataclass(frozen=True)
class Found:
    """A file of a board: an entry, or what is wrong with it."""

    path: Path
    entry: Entry | None
    problem: str = ""


def read_all(folder: Path) -> Iterator[Found]:
    """Every entry of a board, in order of name."""
    if not folder.is_dir():
        return
    paths = sorted(path for path in folder.iterdir() if path.suffix == ".json" and not path.name.startswith("."))
    for number, path in enumerate(paths):
        if number >= MOST_ENTRIES:
            yield Found(path, None, f"a board has at most {MOST_ENTRIES} entries")
            return
        try:
            yield Found(path, _read(folder, path))
        except (OSError, ValueError) as error:
            yield Found(path, None, str(error) or type(error).__name__)


def _read(folder: Path, path: Path) -> Entry:
    if not is_inside(folder, path) or not path.is_file():
        raise ValueError("it is a link, or no file")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"it has {path.stat().st_size} bytes: expected at most {LARGEST}")
    entry = decode(path.read_bytes())
    if entry.name != path.name:
        raise ValueError(f"it holds another entry than its name says: expected {entry.name}")
    return entry
