"""What a line of a file looks like: fields, the character between them, and the message for a line that does not fit.

Imported by `parsing` and by the readers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.sources.readers import _lines as scan

ID_LIMIT = 2**31 - 2
"""Ids are stored as 32-bit numbers."""

_KINDS = {"anything": scan.ANYTHING, "whole": scan.WHOLE, "decimal": scan.DECIMAL}
_TIMES: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "date": scan.dates,
    "time": scan.times,
    "long_time": scan.long_times,
}
_EXAMPLES = {
    "whole": "a whole number",
    "decimal": "a number",
    "text": "a text",
    "date": "a date like 2005-09-06",
    "time": "a time like 2010-10-19T15:55:27Z",
    "long_time": "a time like Sat Dec 15 00:13:02 +0000 2012",
}


@dataclass(frozen=True)
class Field:
    """One field of a line. Its kind is whole, decimal, text, date (days since 1970), time or long_time (seconds since
    1970), or anything; fields that are not kept are still checked."""

    name: str
    kind: str = "whole"
    low: int = 0
    high: int = ID_LIMIT
    digits: int = 0
    """Number of digits of a code, leading zeros included; 0: any number of digits."""
    keep: bool = True


@dataclass(frozen=True)
class Layout:
    """The fields of a line and their separator, one character written once or twice (`::`)."""

    fields: tuple[Field, ...]
    separator: str
    heading: str = ""
    """A character that marks headings: an integer followed by it is a heading for the lines below (Netflix's `123:`)."""
    headed: str = ""
    """What the number of a heading means."""

    @property
    def shown(self) -> str:
        names = {"\t": " TAB "}.get(self.separator, self.separator).join(f.name for f in self.fields)
        return f"{len(self.fields)} fields ({names})"

    @cached_property
    def kept(self) -> dict[str, int]:
        """Name of each kept field, and its row in the parsed values."""
        checked = [
            f.name for f in self.fields if (f.keep and f.kind not in ("anything", "decimal")) or f.kind in _TIMES
        ]
        return {name: row for row, name in enumerate(checked)}

    @cached_property
    def _compiled(self) -> tuple[np.ndarray, ...]:
        kinds = [_KINDS.get(f.kind, scan.TEXT) for f in self.fields]
        slots = [self.kept.get(f.name, -1) for f in self.fields]
        bounds = [[f.low for f in self.fields], [f.high for f in self.fields], [f.digits for f in self.fields]]
        return tuple(np.array(column, dtype=np.int64) for column in (kinds, slots, *bounds))

    def parse(self, text: bytes, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Values of each kept field of `number` lines, and one verdict per line. Text fields are spans of `text`."""
        buffer = np.frombuffer(text, dtype=np.uint8)
        values = np.zeros((max(1, len(self.kept)), number), dtype=np.int64)
        verdicts = np.empty(number, dtype=np.int16)
        separator, heading = ord(self.separator[0]), ord(self.heading) if self.heading else 0
        scan.parse_fields(buffer, separator, len(self.separator), *self._compiled, heading, values, verdicts)
        good = verdicts // scan.FIELDS == scan.GOOD
        for position, part in enumerate(self.fields):
            if part.kind in _TIMES:
                slot = self.kept[part.name]
                values[slot], right = _TIMES[part.kind](buffer, values[slot])
                verdicts[good & ~right] = scan.NOT_TIME * scan.FIELDS + position
                good &= right
        return values, verdicts

    def problem(self, verdict: int, line: bytes) -> str:
        """The message for a verdict on a line."""
        what, at = divmod(int(verdict), scan.FIELDS)
        parts = line.decode("utf-8", "replace").rstrip("\r\n ").split(self.separator)
        heading = at == scan.HEAD
        if len(parts) != len(self.fields) and not heading:
            return f"expected {self.shown}, found {len(parts)}: {short(line)}"
        part = self.fields[0 if heading else at]
        name, text = part.name, parts[0 if heading else at].strip()
        if heading:
            name, text = self.headed, text.removesuffix(self.heading).strip()
        if what == scan.NOT_LONG:
            digits = len(text.removeprefix("-"))
            lost = "; a leading zero was probably lost" if digits == part.digits - 1 else ""
            return f"{name} {short(text)} has {digits} digits: expected {part.digits}{lost}"
        if what == scan.OUT_OF_RANGE:
            return f"{name} {short(text)} is out of range: expected {part.low} to {part.high}"
        return f"expected {_EXAMPLES[part.kind]} as {name}, found {short(text)}; a line has {self.shown}"


def short(text: bytes | str) -> str:
    """A piece of a file as it is shown in a message."""
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    shown = shown.rstrip("\r\n")
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")
