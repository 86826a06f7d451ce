"""The state of the ledger in the README: `python docs/_ext/ledger.py` writes it, and a test compares."""

from __future__ import annotations

import textwrap
from pathlib import Path

from pages.markdown import table
from pages.papers import verdicts

from dpbench.claims.verdicts import tally
from dpbench.paths import RECORD
from dpbench.report.answer import EVIDENCE_HEADS, answers, evidence_row
from dpbench.report.papers import PAPERS

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- ledger: written by `python docs/_ext/ledger.py` -->\n", "<!-- end of ledger -->\n"


def ledger_table(records: Path = RECORD) -> str:
    """Per paper what holds, depends and cannot be, in words, and the number of claims by verdict and evidence."""
    found = {paper: judged for paper in PAPERS if (judged := verdicts(paper, records))}
    told = [f"- **{one.paper}**: {' '.join(one.sentences)}" for judged in found.values() for one in answers(judged)]
    wrapped = "\n".join(textwrap.fill(text, 125, subsequent_indent="  ", break_on_hyphens=False) for text in told)
    rows = [(paper, *evidence_row(tally(judged))) for paper, judged in found.items()]
    total = ("all", *evidence_row(tally([verdict for judged in found.values() for verdict in judged])))
    return f"{wrapped}\n\n{table(('paper', *EVIDENCE_HEADS), [*rows, total])}"


def parts(text: str) -> tuple[str, str, str]:
    """The README before, in and after the ledger."""
    before, _, rest = text.partition(BEGIN)
    inside, _, after = rest.partition(END)
    return before, inside, after


if __name__ == "__main__":
    before, _, after = parts(README.read_text(encoding="utf-8"))
    README.write_text(f"{before}{BEGIN}\n{ledger_table()}\n{END}{after}", encoding="utf-8")
