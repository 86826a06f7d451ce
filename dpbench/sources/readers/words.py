"""Reader of the UCI bags of words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpbench.errors import UserError
from dpbench.sources.readers.assembly import MOST
from dpbench.sources.readers.layout import Field, Layout, short
from dpbench.sources.readers.pairs import PairReader, Pairs
from dpbench.sources.readers.parsing import BadLines, Lines, read_fields


@dataclass(frozen=True, kw_only=True)
class UciBagOfWords(PairReader, name="uci_bag_of_words"):
    """A docword file: three lines with the numbers of documents, words and pairs; then `document word count`.

    A row is a document; a column is a word of the vocabulary, including words that never occur.
    """

    kinds = ("incidence",)
    what = "a UCI bag of words"
    names = ("docword.*.txt",)
    repeats = False
    called = ("document", "word")
    counted_from = 1

    HEAD = ("documents", "words", "pairs")

    def pairs(self, bad: BadLines) -> Iterator[Pairs]:
        for path in self.files():
            lines = Lines(
                path, "three lines with the numbers of documents, words and pairs, then `document word count`"
            )
            documents, words, total = self._head(lines)
            layout = Layout(
                (Field("document", low=1, high=documents), Field("word", low=1, high=words), Field("count", low=1)), " "
            )
            count, before = 0, bad.skipped
            for block in read_fields(lines, layout, bad):
                count += block.lines.size
                yield Pairs(block, block["document"] - 1, block["word"] - 1)
            skipped = bad.skipped - before
            # A skipped line may have been a pair or not. If more pairs are missing, the file was truncated.
            if not count <= total <= count + skipped:
                bad_too = f" and {skipped} bad line{'s' * (skipped > 1)}" if skipped else ""
                problem = f"the file ends after {count} pairs{bad_too}: expected {total}, as line 3 says"
                raise UserError(f"{path}, line {lines.line}: {problem}")

    def _head(self, lines: Lines) -> tuple[int, int, int]:
        numbers = []
        for name in self.HEAD:
            text = lines.head()
            most = 10**18 if name == "pairs" else MOST
            if not text.isdigit() or len(text) > 18 or not 1 <= int(text) <= most:
                problem = f"expected the number of {name}, 1 to {most}, found {short(text)}"
                raise UserError(f"{lines.path}, line {lines.line - 1}: {problem}")
            numbers.append(int(text))
        return numbers[0], numbers[1], numbers[2]

    def numbered(self, users: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray, int, int]:
        documents, words, _ = self._head(Lines(self.files()[0], "three lines with numbers"))
        return users, items, documents, words
