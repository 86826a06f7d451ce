"""The state of the ledger in the README: `python docs/_ext/ledger.py` writes it, and a test compares."""

from __future__ import annotations

import textwrap
from pathlib import Path

from pages.markdown import table
from pages.papers import verdicts
from readme import write_part

from dpbench.claims.verdicts import tally
from dpbench.paths import RECORD
from dpbench.report.answer import EVIDENCE_HEADS, answers, evidence_row
from dpbench.report.papers import PAPERS


def ledger_table(records: Path = RECORD) -> str:
    """Per paper what holds, depends and cannot be, in words, and the number of claims by verdict and evidence."""
    found = {paper: judged for paper in PAPERS if (judged := verdicts(paper, records))}
    told = [f"- **{one.paper}**: {' '.join(one.sentences)}" for judged in found.values() for one in answers(judged)]
    wrapped = "\n".join(textwrap.fill(text, 125, subsequent_indent="  ", break_on_hyphens=False) for text in told)
    rows = [(paper, *evidence_row(tally(judged))) for paper, judged in found.items()]
    total = ("all", *evidence_row(tally([verdict for judged in found.values() for verdict in judged])))
    return f"{wrapped}\n\n{table(('paper', *EVIDENCE_HEADS), [*rows, total])}"


if __name__ == "__main__":
    write_part("ledger", ledger_table())
