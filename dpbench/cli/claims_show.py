"""How `claims` shows verdicts: one line each, a table or a list with all details, or JSON. Imported by the verb only."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dpbench.claims.verdicts import command
from dpbench.model.claim import (
    BY_CONSTRUCTION,
    CONTRADICTED,
    ON_BOTH,
    ON_DATA,
    ON_READING,
    OPEN,
    REPRODUCED,
    UNTESTABLE,
)
from dpbench.model.verdict import Verdict

WIDTH = 170  # characters per line of output into a pipe
NARROW = 130  # below this width a table would break every word: claims are listed one after the other
COLOURS = {
    REPRODUCED: "green",
    CONTRADICTED: "red",
    OPEN: "yellow",
    UNTESTABLE: "dim",
    BY_CONSTRUCTION: "dim",
    **dict.fromkeys((ON_READING, ON_DATA, ON_BOTH), "cyan"),
}
NAMES = 44  # the width of most names of claims


def line(v: Verdict, width: int) -> Text:
    """A claim in one line: its verdict, its name, what was measured, what the paper expects, and other evidence."""
    name = v.claim.id + ("" if v.claim.counted else "*")
    numbers = f"{v.measured} ({v.interval})" if v.interval else v.measured
    about = f"{numbers}; paper {v.claim.expect}" if v.decider else v.reason
    about += f" [{v.where}]" if v.decider and v.where else ""
    tested = [other for other in v.others if other.decider]
    about += "".join(f"; {other.source}: {other.verdict}, {other.measured}" for other in tested)
    room = max(20, width - len(UNTESTABLE) - NAMES - 2)
    about = about if len(about) <= room else f"{about[: room - 3]}..."
    return Text.assemble((f"{v.verdict:<{len(UNTESTABLE)}}", COLOURS[v.verdict]), f" {name:<{NAMES}} ", about)


def table(title: str, verdicts: list[Verdict]) -> Table:
    found = Table(title=title, show_lines=True, expand=True)
    widths = {"claim": 9, "verdict": 2, "measured": 4, "95 % interval": 3, "paper": 3}
    for head, share in widths.items():
        found.add_column(head, overflow="fold", ratio=share, min_width=len(UNTESTABLE))
    for v in verdicts:
        measured = Text("\n").join(filter(None, (Text(v.measured), Text(v.where, "dim"))))
        found.add_row(_about(v), Text(v.verdict, COLOURS[v.verdict]), measured, v.interval, escape(v.claim.expect))
    return found


def listing(title: str, verdicts: list[Verdict]) -> Group:
    """The same for a narrow screen: one paragraph per claim."""
    parts: list[Text | Padding] = [Text(title, "bold italic")]
    for v in verdicts:
        interval = f"95 % interval {v.interval}" if v.interval else ""
        numbers = filter(None, (f"measured {v.measured}" if v.decider else "", v.where, interval))
        paper = f"paper {v.claim.expect}" if v.claim.expect else ""
        last = Text("; ".join(filter(None, (", ".join(numbers), paper))))
        about = _about(v)
        parts += [Text(v.verdict, COLOURS[v.verdict]), Padding(Text("\n").join([about, last]), (0, 0, 1, 2))]
    return Group(*parts)


def _about(v: Verdict) -> Text:
    """What is claimed and where, and remarks on the verdict."""
    claim = v.claim
    remarks = "; ".join(filter(None, (claim.place, claim.basis, claim.decided_by, v.source)))
    lines = [Text.assemble((claim.id, "bold"), f" ({remarks})"), Text(claim.says)]
    behind = claim.note if v.verdict != UNTESTABLE else ""
    measure = f"Measure: {claim.measure}" if claim.measure else ""
    texts = [v.reason, command(v), *(_other(other) for other in v.others), measure, _borders(v), behind]
    if claim.copy_of:
        texts.append(f"Repeats {claim.copy_of}; not counted.")
    if claim.same_as:
        texts.append(f"The same fact as {claim.same_as}; counted there.")
    if claim.ours:
        texts.append("A note of ours, not a sentence of the paper; not counted.")
    lines += [Text(text, "dim") for text in texts if text]
    return Text("\n").join(lines)


def _other(v: Verdict) -> str:
    """The verdict of further evidence."""
    numbers = f"{v.measured} ({v.interval})" if v.interval else v.measured or v.reason
    source = v.source or "generated data"
    source = f"{source[0].upper()}{source[1:]}" if v.recorded else f"On {source}"
    return f"{source}: {v.verdict}, {numbers}" + (f" [{v.where}]" if v.where else "")


def _borders(v: Verdict) -> str:
    """Where the borders of the expected region come from."""
    after = "set after the numbers were seen" if v.claim.set_after else ""
    reasons = "; ".join(filter(None, (v.claim.because, after)))
    return f"Borders: {reasons}." if reasons else ""


def as_json(verdicts: list[Verdict]) -> str:
    return json.dumps([_entry(v) for v in verdicts], indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _entry(v: Verdict) -> dict[str, Any]:
    claim = v.claim
    about: dict[str, Any] = {
        "claim": claim.id,
        "paper": claim.paper,
        "place": claim.place,
        "says": claim.says,
        "basis": claim.basis,
    }
    about |= {"basis": claim.basis, "expects": claim.expect, "because": claim.because, "set_after": claim.set_after}
    about |= {
        "decided_by": claim.decided_by,
        "copy_of": claim.copy_of,
        "same_as": claim.same_as,
        "ours": claim.ours,
        "made": claim.made,
        "note": claim.note,
    }
    return {**about, **_finding(v), "others": [_finding(other) for other in v.others]}


def _finding(v: Verdict) -> dict[str, Any]:
    """The verdict of one kind of evidence; numbers that are not finite are null."""
    found: dict[str, Any] = {"verdict": v.verdict, "reason": v.reason, "source": v.source}
    found |= {
        "files": list(v.files),
        "scale": v.scale,
        "trials": v.trials,
        "data_seeds": v.data_seeds,
        "error": v.error,
    }
    if v.decider is not None:
        ends = {"value": v.decider.value, "low": v.decider.low, "high": v.decider.high}
        found |= {name: end if abs(end) < float("inf") else None for name, end in ends.items()}
        found |= {"where": dict(v.decider.labels), "groups": len(v.groups)}
    return found
