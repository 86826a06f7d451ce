"""One figure or table as the page shows it: its run or its record, its numbers, pictures, claims and privacy notes.

Made by `gather`, shown by templates/experiments.html.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from dpbench.model.claim import UNTESTABLE
from dpbench.model.record import Record
from dpbench.model.run import Run
from dpbench.model.verdict import Verdict
from dpbench.report.marks import Marks, MechanismUse, Note, audit_notes, notes, uses_of
from dpbench.report.papers import OWN
from dpbench.report.tables import Table, rows_of, table
from dpbench.report.text import anchor, plural, slug

if TYPE_CHECKING:
    import pandas as pd

    from dpbench.report.pictures import Drawn

FEW = 3  # up to this many untestable claims are shown beside a figure, more are collapsed
MANY = 8  # more claims than this stand below the picture, in columns: beside it they would leave a large gap below it
MOST_ROWS = 400  # rows shown of one table of numbers
PLAIN_CSV = 50_000  # a CSV file of up to this many bytes is put into the page uncompressed


@dataclass
class Experiment:
    """One figure or table."""

    id: str
    """The label of its run: an experiment's id, followed by the datasets read from files, or its own name."""
    title: str
    command: str
    """The command that runs it as defined."""
    run: Run | None = None
    record: Record | None = None
    """Its record, if it was not run here."""
    recorded: str = ""
    """Where the record comes from: "recorded at COMMIT"."""
    trials: int = 0
    """Stored."""
    numbers: pd.DataFrame | None = None
    summary: pd.DataFrame | None = None
    pictures: list[Drawn] = field(default_factory=list)
    problem: str = ""
    """Why it cannot be drawn."""
    remarks: list[str] = field(default_factory=list)
    """How this run differs from the experiment's definition."""
    verdicts: list[Verdict] = field(default_factory=list)
    audited: Mapping[str, str] = field(default_factory=dict)
    """The audit's findings by mechanism, if mechanisms are compared."""

    @property
    def own(self) -> bool:
        """Whether it is a variation or an ad-hoc run."""
        return self.run is not None and self.run.name != self.run.experiment

    @property
    def paper(self) -> str:
        return OWN if self.own else self.id.partition("/")[0]

    @property
    def missing(self) -> bool:
        return self.run is None and self.record is None

    @property
    def state(self) -> str:
        """Empty when it was run here."""
        return "" if self.run else "on record, not run here" if self.record else "not run"

    @property
    def facts(self) -> tuple[str, ...]:
        """How it was run, and where its data comes from."""
        if run := self.run:
            settings = plural(len(run.settings), "setting")
            return (f"scale {run.scale}", settings, run.describe_trials(), f"noise seed {run.seed}", *run.origins())
        if not (record := self.record):
            return ()
        draws = len(record.data_seeds)
        several = (f"{draws} draws of the data",) if draws > 1 else ()
        trials = f"up to {record.trials} trials per setting" if record.trials > 1 else "1 trial per setting"
        counts = (plural(record.settings, "setting"), trials, *several)
        seed = f"noise seed {record.seed}"
        return (f"not run here: {self.recorded}", f"scale {record.scale}", *counts, seed, *record.origins)

    @cached_property
    def mechanisms(self) -> list[MechanismUse]:
        if self.run:
            return uses_of(self.run)
        caveats = self.record.not_private if self.record else {}
        return [MechanismUse(name, {}, "ε", reason) for name, reason in caveats.items()]

    @property
    def privacy(self) -> list[Note]:
        return [*notes(self.mechanisms), *audit_notes(self.mechanisms, self.audited)]

    @property
    def listed_claims(self) -> list[Verdict]:
        """The claims that it decides, and those that it cannot test if they are few."""
        return [v for v in self.verdicts if v.verdict != UNTESTABLE] + ([] if self.folded_claims else self._untested)

    @property
    def folded_claims(self) -> list[Verdict]:
        """The claims that are collapsed because this run cannot test them."""
        return self._untested if len(self._untested) > FEW else []

    @property
    def _untested(self) -> list[Verdict]:
        return [v for v in self.verdicts if v.verdict == UNTESTABLE]

    @property
    def layout(self) -> str:
        """The CSS class that places picture and claims."""
        if self.pictures and (self.pictures[0].wide or len(self.listed_claims) > MANY):
            return "wide"
        return "" if self.pictures and self.verdicts else "alone"

    @property
    def figure_command(self) -> str:
        """The command that writes the files of the figure, if the page does not have them all."""
        lacks = any(not picture.pdf for picture in self.pictures)
        return f"python -m dpbench figures {self.id}" if lacks else ""

    def csv(self) -> tuple[str, str, str]:
        """All numbers of the figure as a file inside the page: its name, its label, its data URI. Compressed when long."""
        assert self.numbers is not None
        content, name = self.numbers.to_csv(index=False).encode(), f"{slug(self.id)}.csv"
        if len(content) <= PLAIN_CSV:
            return name, "CSV", f"data:text/csv;base64,{base64.b64encode(content).decode()}"
        packed = base64.b64encode(gzip.compress(content, mtime=0)).decode()
        return f"{name}.gz", "CSV (gzip)", f"data:application/gzip;base64,{packed}"

    @property
    def summary_table(self) -> Table | None:
        return None if self.summary is None else self._table("Summary", self.summary)

    @property
    def numbers_table(self) -> Table | None:
        """The first rows of the numbers."""
        return None if self.numbers is None else self._table("Numbers", self.numbers.head(MOST_ROWS), tall=True)

    def _table(self, what: str, frame: pd.DataFrame, *, tall: bool = False) -> Table:
        marks = Marks(self.mechanisms)
        return table(
            [str(column) for column in frame.columns],
            rows_of(frame),
            id=anchor(what.lower(), self.id),
            caption=f"{what} of {self.id}",
            tall=tall,
            head_mark=marks.head,
            cell_mark=marks.cell,
        )
