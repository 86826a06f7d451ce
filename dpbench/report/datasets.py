"""A dataset as the page shows it: its card, how the runs used it, and its statistics. Made by `gather`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpbench.model.run import Dataset
from dpbench.report.tables import Table, table
from dpbench.report.text import anchor
from dpbench.sources.cards import Card


@dataclass
class UsedDataset:
    """A dataset's card, and how the runs used it: each use once, with the scale."""

    name: str
    card: Card
    uses: list[tuple[str, Dataset]] = field(default_factory=list)

    @property
    def described_uses(self) -> list[tuple[bool, str]]:
        """For each use: whether from original files, and a description."""
        return list(dict.fromkeys((use.original, _describe(scale, use)) for scale, use in self.uses))

    @property
    def text(self) -> str:
        """The card without its title, in Markdown; empty if there is no card."""
        return re.sub(r"\A# .*\n", "", self.card.markdown()) if self.card.text else ""

    @property
    def statistics(self) -> Table | None:
        """The statistics of the data in the runs, beside those of the paper and of the original files from the card."""
        columns: dict[str, Mapping[str, Any]] = {}
        for scale, use in self.uses:
            if use.statistics:
                columns.setdefault(f"these runs ({_describe(scale, use)})", use.statistics)
        for facts, about in ((self.card.paper, "table"), (self.card.original, "of")):
            if facts:
                columns[str(facts.get(about) or "the original")] = {k: v for k, v in facts.items() if k != about}
        names = dict.fromkeys(name for column in columns.values() for name in column)
        if not names:
            return None
        rows = [[name, *(column.get(name) for column in columns.values())] for name in names]
        return table(["statistic", *columns], rows, id=anchor("stat", self.name), caption=f"Statistics of {self.name}")


def _describe(scale: str, use: Dataset) -> str:
    return "; ".join(filter(None, [use.origin, use.choice, f"scale {scale}"]))
