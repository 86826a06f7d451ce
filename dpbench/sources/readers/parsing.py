"""Original files as columns of numbers: streamed block by block, gzip or plain, every bad line named.

Imported by the readers. `Layout` describes a line; `BadLines` handles bad ones.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.errors import UserError, one_of
from dpbench.sources.base import SkippedLines
from dpbench.sources.readers import _lines as scan
from dpbench.sources.readers.layout import ID_LIMIT, Layout, short

BLOCK = 1 << 22  # bytes parsed at a time
PART = 1 << 17  # bytes read at a time
LONGEST_LINE = 1 << 26  # a longer line means that it is not a text file

NO_NUMBER = -1

ON_BAD_LINE = ("error", "skip")

OTHERS = {
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"PK\x03\x04": "a zip archive",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"\x1f\x8b": "compressed twice by gzip",
}
"""First bytes of files that people pass instead of text, and what these files are."""


class BadLines:
    """Handles bad lines: the first one is an error, or all are skipped, counted and reported by `report`."""

    def __init__(self, mode: str) -> None:
        one_of("on_bad_line", mode, ON_BAD_LINE)
        self.mode = mode
        self.skipped = 0
        self.first = ""

    def found(self, path: Path, line: int, problem: str, number: int = 1, unit: str = "line") -> None:
        """Report `number` bad lines, the first of them `line`. `unit`: what the file has instead of lines."""
        message = f"{path}, {unit} {line}: {problem}"
        if self.mode == "error":
            raise UserError(message)
        self.skipped += number
        self.first = self.first or message

    def nothing(self, path: Path | str, what: str, expected: str) -> UserError:
        """The error if no `what` was good. It names the first bad line if some were skipped."""
        first = f"; the first bad line: {self.first}" if self.first else ""
        return UserError(f"{path}: there is not a single {what}: expected {expected}{first}")

    def report(self) -> None:
        if self.skipped:
            lines = "line was" if self.skipped == 1 else "lines were"
            warnings.warn(f"{self.skipped} bad {lines} skipped; the first: {self.first}", SkippedLines, stacklevel=3)


@dataclass(frozen=True)
class Block:
    """Some lines of a file, parsed: one column per kept field, and what is needed to name a line."""

    path: Path
    columns: dict[str, np.ndarray]
    lines: np.ndarray
    """Line number of each row, from 1."""
    text: bytes
    headings: tuple[np.ndarray, np.ndarray]
    """Line numbers of the headings, and the numbers they hold; NO_NUMBER for a bad heading."""
    _encoded: dict[str, tuple[list[bytes], np.ndarray]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def texts(self, name: str) -> tuple[list[bytes], np.ndarray]:
        """The different texts of a text field, and the index of each row's text among them."""
        if name not in self._encoded:
            import pyarrow as pa

            spans = self.columns[name]
            starts, lengths = spans >> scan.LENGTH_BITS, spans & ((1 << scan.LENGTH_BITS) - 1)
            ends = np.cumsum(lengths)
            places = np.arange(ends[-1] if ends.size else 0) + np.repeat(starts - (ends - lengths), lengths)
            data = np.frombuffer(self.text, dtype=np.uint8)[places]
            offsets = np.concatenate([[0], ends]).astype(np.int32)
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
            array = pa.Array.from_buffers(pa.binary(), spans.size, buffers).dictionary_encode()
            self._encoded[name] = (array.dictionary.to_pylist(), array.indices.to_numpy())
        return self._encoded[name]

    def without(self, bad: np.ndarray, bad_lines: BadLines, problem: Callable[[int], str]) -> Block:
        """The block without the rows marked in `bad`, which are reported; `problem` says what is wrong with a row."""
        if not bad.any():
            return self
        row = int(np.argmax(bad))
        bad_lines.found(self.path, int(self.lines[row]), problem(row), int(bad.sum()))
        columns = {name: values[~bad] for name, values in self.columns.items()}
        return Block(self.path, columns, self.lines[~bad], self.text, self.headings)


class Lines:
    """The lines of a file, streamed in blocks of whole lines; `head` takes single lines first."""

    def __init__(self, path: Path, expected: str) -> None:
        self.path, self.expected = path, expected
        self.line = 1
        self._rest = b""
        self._blocks = self._read()

    def peek(self) -> bytes:
        """The next line, without consuming it; empty at the end."""
        self._rest = self._rest or next(self._blocks, b"")
        return self._rest.partition(b"\n")[0]

    def head(self) -> bytes:
        """The next line, without its end; an error when there is none."""
        self.peek()
        if not self._rest:
            raise UserError(f"{self.path}, line {self.line}: the file ends here: expected {self.expected}")
        first, _, self._rest = self._rest.partition(b"\n")
        self.line += 1
        return first.rstrip(b"\r ")

    def blocks(self) -> Iterator[tuple[int, int, bytes]]:
        """Line number of the first line, number of lines, and their text, which ends with a newline."""
        while text := self._rest or next(self._blocks, b""):
            self._rest = b""
            # Faster than bytes.count, which calls memchr once per line.
            number = int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")))
            yield self.line, number, text
            self.line += number

    def _read(self) -> Iterator[bytes]:
        """Pieces of whole lines. Before taking the next piece, the caller has counted the lines of the previous ones."""
        rest, empty = b"", True
        parts: list[bytes] = []
        try:
            with open_bytes(self.path) as file:
                while chunk := _gathered(file, parts):
                    if empty:
                        chunk, empty = chunk.removeprefix(b"\xef\xbb\xbf"), False
                        self._check_text(chunk)
                    cut = chunk.rfind(b"\n") + 1
                    if not cut:
                        rest += chunk
                        self._check_length(rest)
                        continue
                    block, rest = rest + chunk[:cut], chunk[cut:]
                    yield block
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            cut = isinstance(error, EOFError)
            problem = "is truncated" if cut else f"is damaged ({error})"
            line = self.line - 1 + sum(part.count(b"\n") for part in parts)
            raise UserError(f"{self.path}, after line {line}: the gzip file {problem}") from None
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read: {error.strerror or error}") from None
        if rest:
            yield rest + b"\n"
        elif empty:
            raise UserError(f"{self.path}, line 1: the file is empty: expected {self.expected}")

    def _check_text(self, begin: bytes) -> None:
        """Raise a clear error for a file that is not text with newlines; messages about its lines would be less clear."""
        what = next((what for mark, what in OTHERS.items() if begin.startswith(mark)), "")
        if not what and b"\n" not in begin and b"\r" in begin.strip():
            what = "text with carriage returns and no newlines"
        if what:
            raise UserError(
                f"{self.path}, line 1: the file is {what}: expected plain or gzipped lines, {self.expected}"
            )

    def _check_length(self, line: bytes) -> None:
        if len(line) > LONGEST_LINE:
            size = f"longer than {LONGEST_LINE >> 20} MB"
            raise UserError(f"{self.path}, line {self.line}: {size}: expected a text file with {self.expected}")


def _gathered(file: BufferedIOBase, parts: list[bytes]) -> bytes:
    """The next block of a file. Its bytes are collected in `parts`, so that they are available if the file is damaged."""
    parts.clear()
    size = 0
    while size < BLOCK and (part := file.read1(min(PART, BLOCK - size))):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def open_bytes(path: Path) -> BufferedIOBase:
    """The file's bytes, decompressed if it is gzip, whatever its name."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.GzipFile(path) if packed else path.open("rb")


def read_fields(lines: Lines, layout: Layout, bad: BadLines) -> Iterator[Block]:
    """All further lines, parsed. Blank lines are ignored."""
    for first, number, text in lines.blocks():
        values, verdicts = layout.parse(text, number)
        what = verdicts // scan.FIELDS
        wrong = what > scan.HEADING
        if wrong.any():
            at = int(np.argmax(wrong))
            bad.found(lines.path, first + at, layout.problem(verdicts[at], _line(text, at)), int(wrong.sum()))
        # Lines below a bad heading do not belong to the good heading above it.
        good, heading = np.flatnonzero(what == scan.GOOD), np.flatnonzero(_headings(verdicts))
        kept: Any = slice(None) if good.size == what.size else good
        columns = {name: values[row, kept] for name, row in layout.kept.items()}
        numbers = np.where(what[heading] == scan.HEADING, values[0, heading], NO_NUMBER)
        yield Block(lines.path, columns, first + good, text, (first + heading, numbers))


def _headings(verdicts: np.ndarray) -> np.ndarray:
    return (verdicts // scan.FIELDS == scan.HEADING) | (verdicts % scan.FIELDS == scan.HEAD)


def read_lists(lines: Lines, name: str, bad: BadLines) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All lines as lists of whole numbers: the numbers of a block, and how many of them each line has."""
    for first, number, text in lines.blocks():
        values = np.empty(len(text) // 2 + 1, dtype=np.int64)
        ends, verdicts = np.empty(number, dtype=np.int64), np.empty(number, dtype=np.int16)
        scan.parse_lists(np.frombuffer(text, dtype=np.uint8), 0, ID_LIMIT, values, ends, verdicts)
        wrong = verdicts != scan.GOOD
        if wrong.any():
            at = int(np.argmax(wrong))
            bad.found(lines.path, first + at, _list_problem(_line(text, at), name), int(wrong.sum()))
        yield values[: ends[-1]], np.diff(ends, prepend=0)[~wrong]


def _list_problem(line: bytes, name: str) -> str:
    for word in line.split():
        if not word.removeprefix(b"-").isdigit():
            return f"expected whole numbers ({name}s) separated by spaces, found {short(word)}"
        if len(word) > 18 or not 0 <= int(word) <= ID_LIMIT:
            return f"{name} {short(word)} is out of range: expected 0 to {ID_LIMIT}"
    return f"expected whole numbers ({name}s) separated by spaces, found {short(line)}"


def _line(text: bytes, number: int) -> bytes:
    return text.split(b"\n", number + 1)[number]


class Interner:
    """Numbers for texts, in order of first appearance."""

    def __init__(self) -> None:
        self.table: dict[bytes, int] = {}

    def codes(self, block: Block, name: str) -> np.ndarray:
        """The number of each row's text."""
        table = self.table
        texts, places = block.texts(name)
        known = np.array([table.setdefault(text, len(table)) for text in texts], dtype=np.int64)
        return known[places]
