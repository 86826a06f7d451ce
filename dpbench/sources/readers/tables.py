"""Readers of contingency tables: UCI Adult, and the Census Bureau's origin-destination files (LODES) behind OnTheMap."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from dpbench.data import Contingency, Incidence
from dpbench.errors import UserError, positive, unknown
from dpbench.sources.readers import assembly
from dpbench.sources.readers.base import Reader
from dpbench.sources.readers.layout import Field, Layout, short
from dpbench.sources.readers.parsing import BadLines, Block, Lines, read_fields

# The values that adult.names lists, and `?` where the files have it.
ADULT = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked ?",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th "
    "10th Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces ?",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
}
_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_FIELDS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)

COUNTRY = "native-country"
"""The only other field that has `?`."""
UNKNOWN = "?"


def _adult_field(name: str) -> Field:
    if name in _NUMBERS:
        return Field(name, keep=False)
    return Field(name, "text", keep=name in ADULT or name == COUNTRY)


@dataclass(frozen=True, kw_only=True)
class UciAdult(Reader, name="uci_adult"):
    """UCI Adult on its seven categorical attributes, as sparse projects it: 907200 cells.

    From a folder both adult.data and adult.test are read. A first line that begins with | is a comment. As incidence, a
    row is a person, who has one value of each attribute.
    """

    kind: str = "contingency"
    """`contingency`: the table of all attributes. `incidence`: people by attribute values."""
    complete: bool = False
    """Only people without `?` in any field, native-country included; `?` is then no value of the domain."""
    without: str = ""
    """Attributes to leave out, separated by commas, such as workclass."""

    kinds = ("contingency", "incidence")
    what = "UCI Adult"
    names = ("adult.data", "adult.test")
    many = True

    LAYOUT = Layout(tuple(_adult_field(name) for name in _FIELDS), ",")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.complete, bool):
            raise UserError(f"complete={self.complete!r} is not valid: expected true or false")
        for name in self._left_out():
            if name not in ADULT:
                raise unknown("attribute in without:", name, [*ADULT])
        if len(self._left_out()) >= len(ADULT):
            raise UserError(f"without={self.without} leaves no attribute: expected fewer than {len(ADULT)}")

    def _left_out(self) -> set[str]:
        return {name.strip() for name in self.without.split(",")} - {""}

    def build(self, rng: np.random.Generator) -> Contingency | Incidence:
        bad = self.bad_lines()
        used = {name: values.split() for name, values in ADULT.items() if name not in self._left_out()}
        if self.complete:
            used = {name: [value for value in values if value != UNKNOWN] for name, values in used.items()}
        shape = tuple(len(values) for values in used.values())
        collected = [assembly.Column(np.int64) for _ in used]
        for path in self.files():
            lines = Lines(path, self.LAYOUT.shown)
            if lines.peek().startswith(b"|"):
                lines.head()
            for block in read_fields(lines, self.LAYOUT, bad):
                coded = self._codes(block, bad)
                for column, name in zip(collected, used, strict=True):
                    column.add(coded[name])  # `?` is the last value, so the codes of the others stay
        columns = [column.whole() for column in collected]
        if not columns[0].size:
            raise bad.nothing(self.path, "good line", self.what)
        bad.report()
        if self.kind == "incidence":
            return by_attribute(columns, shape)
        return Contingency.from_records(columns, shape=shape)

    def _codes(self, block: Block, bad: BadLines) -> dict[str, np.ndarray]:
        """The codes of each attribute, without lines that have an unlisted value or, with `complete`, a `?`."""
        columns, wrong = {}, np.zeros(block.lines.size, dtype=bool)
        culprit: dict[int, str] = {}
        for name, listed in ADULT.items():
            texts, places = block.texts(name)
            numbers = {value.encode(): code for code, value in enumerate(listed.split())}
            codes = np.array([numbers.get(text, -1) for text in texts], dtype=np.int64)[places]
            for row in np.flatnonzero((codes < 0) & ~wrong)[:1]:
                culprit[int(row)] = f"{name} {short(texts[places[row]])} is none of: {', '.join(listed.split())}"
            wrong |= codes < 0
            columns[name] = codes
        kept = ~wrong
        if wrong.any():
            block.without(wrong, bad, lambda row: culprit.get(row, "a value that is not listed"))
        if self.complete:
            for name in (*(name for name, listed in ADULT.items() if UNKNOWN in listed.split()), COUNTRY):
                texts, places = block.texts(name)
                kept &= np.array([text != UNKNOWN.encode() for text in texts], dtype=bool)[places]
        return {name: codes[kept] for name, codes in columns.items()}


@dataclass(frozen=True, kw_only=True)
class LodesOd(Reader, name="lodes_od"):
    """LODES origin-destination files (xx_od_main_JT00_YYYY.csv), one or many states: workplaces by homes.

    A location is the first digits of its block: 11 for a tract; 7 for the paper's county and two digits of the tract. A cell
    is workplace x locations + home, over all locations that occur as either. As incidence, a row is a job, which has one
    workplace and one home.
    """

    digits: int = 11
    """How many of the 15 digits of a block identify a location."""
    kind: str = "contingency"
    """`contingency`: the table of workplaces by homes. `incidence`: jobs by places."""

    kinds = ("contingency", "incidence")
    what = "LODES origin-destination files"
    names = ("*_od_*.csv",)
    many = True

    NAME: ClassVar[re.Pattern[str]] = re.compile(r"([a-z]{2})_od_(main|aux)_(jt\d\d_\d{4})\.csv(?:\.gz)?")
    """State, part, and job type with the year. Part main: people who live in the state; aux: people from elsewhere."""
    WANTED = ("w_geocode", "h_geocode", "S000")

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("digits", self.digits, whole=True)
        if self.digits > 15:
            raise UserError(f"digits={self.digits} is not valid: expected 1 to 15, the digits of a block")

    def files(self) -> list[Path]:
        files = super().files()
        if len(files) > 1:
            self._check_names([file.name for file in files])
        return files

    def _check_names(self, names: list[str]) -> None:
        """Check by the names that no two files count the same people; the error names two that may."""
        kinds: dict[str, str] = {}
        parts: dict[tuple[str, str], str] = {}
        for name in names:
            match = self.NAME.fullmatch(name.lower())
            if match is None:
                like = difflib.get_close_matches(name, [n for n in names if n != name], n=1, cutoff=0)[0]
                expected = "xx_od_main_JTnn_YYYY.csv or xx_od_aux_JTnn_YYYY.csv"
                raise UserError(f"{self.path}: {name} may be a copy of {like}: expected only names like {expected}")
            state, part, kind = match.groups()
            kinds.setdefault(kind, name)
            other, wanted = next(iter(kinds.values())), "files of one job type and year"
            if len(kinds) == 1:
                other, wanted = parts.setdefault((state, part), name), "each state and part once"
            if len(kinds) > 1 or other != name:
                raise UserError(f"{self.path}: {other} and {name} count the same people: expected {wanted}")

    def build(self, rng: np.random.Generator) -> Contingency | Incidence:
        bad = self.bad_lines()
        table = PairSums()
        for path in self.files():
            lines = Lines(path, f"a header with {', '.join(self.WANTED)}")
            layout = self._layout(lines)
            for block in read_fields(lines, layout, bad):
                unit = 10 ** (15 - self.digits)
                table.add(block["w_geocode"] // unit, block["h_geocode"] // unit, block["S000"])
        if not table.places:
            raise bad.nothing(self.path, "good line", self.what)
        bad.report()
        cells, counts, number = table.sums()
        if self.kind == "incidence":
            jobs = np.repeat(cells, counts)
            return by_attribute([jobs // number, jobs % number], (number, number))
        return Contingency(cells, counts, number * number, (number, number))

    def _layout(self, lines: Lines) -> Layout:
        """The fields in the order of the header."""
        header = lines.head().decode("utf-8", "replace").split(",")
        names = [name.strip().strip('"') for name in header]
        for name in self.WANTED:
            if names.count(name) != 1:
                problem = f"expected a header with the column {name}, found {short(','.join(names))}"
                raise UserError(f"{lines.path}, line 1: {problem}")
        fields = []
        for position, name in enumerate(names):
            if name.endswith("_geocode"):
                # A code that lost its leading zero would be read as a block of another state.
                fields.append(Field(name, low=10**13, high=10**15 - 1, digits=15))
            elif name == "S000":
                fields.append(Field(name))
            else:
                fields.append(Field(name or f"column {position + 1}", "anything"))
        return Layout(tuple(fields), ",")


def by_attribute(columns: list[np.ndarray], shape: tuple[int, ...]) -> Incidence:
    """Records of several attributes as binary rows with one 1 per attribute: the columns are all attributes' values."""
    starts = np.cumsum([0, *shape[:-1]])
    ones = np.stack([codes + start for codes, start in zip(columns, starts, strict=True)], axis=1)
    indptr = np.arange(len(ones) + 1, dtype=np.int64) * len(shape)
    return Incidence(indptr, ones.ravel().astype(np.int32), sum(shape))


class PairSums:
    """Sums over pairs of places, in memory proportional to the distinct pairs, not to the lines."""

    def __init__(self) -> None:
        self.places: dict[int, int] = {}
        self._merged = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        self._fresh: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, first: np.ndarray, second: np.ndarray, amounts: np.ndarray) -> None:
        keys = self._numbers(first) << 32 | self._numbers(second)
        self._fresh.append(_summed(keys, amounts))
        if sum(keys.size for keys, _ in self._fresh) > max(1 << 20, self._merged[0].size):
            self._merge()

    def _numbers(self, places: np.ndarray) -> np.ndarray:
        different, inverse = np.unique(places, return_inverse=True)
        known = [self.places.setdefault(int(place), len(self.places)) for place in different]
        return np.array(known, dtype=np.int64)[inverse]

    def _merge(self) -> None:
        parts = [self._merged, *self._fresh]
        self._fresh = []
        self._merged = _summed(np.concatenate([k for k, _ in parts]), np.concatenate([a for _, a in parts]))

    def sums(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Sorted cells with positive sums (places in ascending order), the sums, and the number of places."""
        self._merge()
        keys, amounts = self._merged
        rank = np.empty(len(self.places), dtype=np.int64)
        rank[[self.places[place] for place in sorted(self.places)]] = np.arange(len(self.places))
        cells = rank[keys >> 32] * len(self.places) + rank[keys & 0xFFFFFFFF]
        order = np.argsort(cells)
        order = order[amounts[order] > 0]
        return cells[order], amounts[order], len(self.places)


def _summed(keys: np.ndarray, amounts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(keys, kind="stable")
    keys, amounts = keys[order], amounts[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(amounts, first) if first.size else amounts
