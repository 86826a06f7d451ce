"""The state of the ledger in the README: `python docs/_ext/ledger.py` writes it, and a test compares."""

from __future__ import annotations

from pathlib import Path

from pages.markdown import table
from pages.papers import verdicts

from dpbench.claims.verdicts import tally
from dpbench.model.claim import VERDICTS
from dpbench.paths import RECORD
from dpbench.report.papers import PAPERS

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- ledger: written by `python docs/_ext/ledger.py` -->\n", "<!-- end of ledger -->\n"


def ledger_table(records: Path = RECORD) -> str:
    """How many claims of each paper have each verdict."""
    counts = {paper: tally(found).counts for paper in PAPERS if (found := verdicts(paper, records))}
    rows = [(paper, *(str(found[verdict]) for verdict in VERDICTS)) for paper, found in counts.items()]
    total = ("all", *(str(sum(found[verdict] for found in counts.values())) for verdict in VERDICTS))
    return table(("paper", *VERDICTS), [*rows, total])


def parts(text: str) -> tuple[str, str, str]:
    """The README before, in and after the ledger."""
    before, _, rest = text.partition(BEGIN)
    inside, _, after = rest.partition(END)
    return before, inside, after


if __name__ == "__main__":
    before, _, after = parts(README.read_text(encoding="utf-8"))
    README.write_text(f"{before}{BEGIN}\n{ledger_table()}\n{END}{after}", encoding="utf-8")
