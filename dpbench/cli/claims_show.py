"""How `claims` shows verdicts: one line each, all details, or JSON. Imported by the verb only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dpbench.claims.cases import readings_of, worlds_of
from dpbench.claims.verdicts import command, repeat
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
from dpbench.model.reading import JOINED
from dpbench.model.verdict import Evidence, Verdict

WIDTH = 170  # characters per line of output into a pipe
COLOURS = {
    REPRODUCED: "green",
    CONTRADICTED: "red",
    OPEN: "yellow",
    UNTESTABLE: "dim",
    BY_CONSTRUCTION: "dim",
    **dict.fromkeys((ON_READING, ON_DATA, ON_BOTH), "cyan"),
}
NAMES = 44  # the width of most names of claims
LONGEST = max(map(len, Evidence))
SHORT = {ON_READING: "on reading", ON_DATA: "on data", ON_BOTH: "on both", BY_CONSTRUCTION: "constructed"}
"""What a verdict is called in one line: what it depends on."""


def line(v: Verdict, width: int) -> Text:
    """A claim in one line: its verdict, its name, what was measured, what the paper expects, and other evidence."""
    name = v.claim.id + ("" if v.claim.counted else "*")
    numbers = f"{v.measured} ({v.interval})" if v.interval else v.measured
    about = f"{numbers}; paper {v.claim.expect}" if v.decider else v.reason
    about += f"; {_sides(v)}" if v.sides else ""
    about += f"; needs about {v.needs:,} trials" if v.verdict == OPEN and v.needs else ""
    about += f" [{v.where}]" if v.decider and v.where else ""
    tested = [other for other in v.others if other.decider]
    about += "".join(f"; {other.source}: {other.verdict}, {other.measured}" for other in tested)
    word = Text(f"{SHORT.get(v.verdict, v.verdict):<{len(UNTESTABLE)}}", COLOURS[v.verdict])
    room = max(20, width - len(UNTESTABLE) - LONGEST - NAMES - 3)
    about = about if len(about) <= room else f"{about[: room - 3]}..."
    return Text.assemble(word, (f" {v.evidence or '':<{LONGEST}}", "dim"), f" {name:<{NAMES}} ", about)


def followed(v: Verdict) -> Group:
    """One claim for a reader who has only the paper: what it says and where, what was tried, what came out, how to repeat it."""
    claim = v.claim
    word = v.verdict + (f": {claim.by}" if claim.by and v.verdict == CONTRADICTED else "")
    needs = f"needs about {v.needs:,} trials" if v.verdict == OPEN and v.needs else ""
    interval = f"95 % interval {v.interval}" if v.interval else ""
    trials = f"{v.trials} trials" if v.trials > 1 else ""
    after = "set after the numbers were seen" if claim.set_after else ""
    borders = "; ".join(filter(None, (claim.because, after)))
    facts = {
        "the paper": f"“{claim.quote}” ({claim.place})" if claim.quote else "",
        "claim": f"{claim.says} ({claim.place}; {claim.basis})",
        "not counted": _uncounted(v),
        "expected": f"{claim.expect} ({borders})" if borders else claim.expect,
        "measure": claim.measure or claim.decided_by,
        "measured": ", ".join(filter(None, (v.measured, interval, v.where, v.expectations, trials)))
        if v.decider
        else "",
        "verdict": "; ".join(filter(None, (word, _sides(v), v.reason, needs))),
        "evidence": "; ".join(filter(None, (v.evidence, v.source or (claim.decided_by if v.evidence else "")))),
        "tried": _tried(v),
        "not tried": _untried(v),
        "other evidence": "; ".join(_other(other) for other in v.others),
        "note": claim.note if v.verdict != UNTESTABLE else "",
        "repeat": command(v) or repeat(v),
    }
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    for head, fact in facts.items():
        if fact:
            rows.add_row(head, Text(fact, COLOURS[v.verdict] if head == "verdict" else ""))
    parts: list[Any] = [Text(claim.id, "bold"), Padding(rows, (0, 0, 0, 2))]
    if len(v.cases) > 1:
        parts.append(Padding(_cases(v), (0, 0, 0, 2)))
        parts += [Padding(text, (0, 0, 0, 2)) for text in _assumed(v)]
    return Group(*parts, Text(""))


def _sides(v: Verdict) -> str:
    """The cases for and against the claim. A printed number may lie between worlds none of which gives it."""
    between = v.verdict == REPRODUCED and v.sides and not v.named(REPRODUCED)
    return "no world alone gives it; it lies between those of different worlds" if between else v.sides


def _cases(v: Verdict) -> Table:
    """What came out in every reading and world, with what each assumes."""
    found = Table(title="Readings and worlds that were tried", title_justify="left")
    for head in ("reading", "world", "verdict", "measured", "95 % interval"):
        found.add_column(head, overflow="fold")
    show = v.claim.region.show
    for case in v.cases:
        ends = [end for end in (case.low, case.high) if end is not None]
        interval = " to ".join(map(show, ends)) if len(set(ends)) == 2 else ""
        value = "" if case.value is None else show(case.value)
        word = Text(case.verdict, COLOURS[case.verdict])
        found.add_row(case.reading, case.world, word, value, interval)
    return found


def _assumed(v: Verdict) -> Iterator[Text]:
    """What the text leaves open and why each reading is admissible, and what each world assumes."""
    readings = {case.reading for case in v.cases}
    for unknown in readings_of(v.claim.experiment).unknowns:
        tried = [one for one in unknown.others() if any(f"{unknown.name}.{one.name}" in name for name in readings)]
        if tried:
            values = (f"{one.name}: {one.because}" for one in (unknown.value(unknown.default), *tried))
            yield Text(f"{unknown.name}: {unknown.says} {'; '.join(values)}.", "dim")
    for world in dict.fromkeys(case.world for case in v.cases):
        dataset, _, name = world.partition(": ")
        if name in worlds_of(dataset):
            yield Text(f"{world}: {worlds_of(dataset)[name].says}.", "dim")


def _untried(v: Verdict) -> str:
    """The admissible readings that were not run; those that combine several choices are only counted."""
    alone = [name for name in v.untried if JOINED not in name]
    more = f" and {len(v.untried) - len(alone)} combinations" if len(alone) < len(v.untried) else ""
    return (
        f"admissible readings {', '.join(alone)}{more}: add reading=all world=all to the command" if v.untried else ""
    )


def _tried(v: Verdict) -> str:
    """What a verdict of a single case was tried in; several cases have a table."""
    if len(v.cases) != 1 or v.files or not v.claim.experiment:
        return ""
    only = ["the default reading of the text"] * bool(v.untried)
    only += ["the default stand-in of each dataset"] * (v.evidence is Evidence.STAND_IN)
    only += ["our implementation, on one machine"] * ("seconds" in v.claim.measure)
    return f"only {' and '.join(only)}" if only else "the text leaves nothing open that would change it"


def _uncounted(v: Verdict) -> str:
    """Why a claim is not counted."""
    if v.claim.ours:
        return "a note of ours, not a sentence of the paper"
    if v.claim.same_as:
        return f"the same fact as {v.claim.same_as}, which is"
    return f"repeats {v.claim.copy_of} with a mechanism of ours" if v.claim.copy_of else ""


def _other(v: Verdict) -> str:
    """The verdict of further evidence."""
    numbers = f"{v.measured} ({v.interval})" if v.interval else v.measured or v.reason
    source = v.source or "generated data"
    source = f"{source[0].upper()}{source[1:]}" if v.recorded else f"On {source}"
    return f"{source}: {v.verdict}, {numbers}" + (f" [{v.where}]" if v.where else "")


ABOUT = (
    *("paper", "place", "says", "basis", "because", "set_after", "decided_by", "copy_of", "same_as", "ours", "made"),
    *("quote", "by", "note"),
)
"""What JSON says of a claim, beside its name and what is expected."""


def as_json(v: Verdict) -> dict[str, Any]:
    """A verdict for programs."""
    claim = v.claim
    about: dict[str, Any] = {"claim": claim.id, "expects": claim.expect}
    about |= {name: getattr(claim, name) for name in ABOUT}
    return {**about, **_finding(v), "others": [_finding(other) for other in v.others]}


def _finding(v: Verdict) -> dict[str, Any]:
    """The verdict of one kind of evidence."""
    found: dict[str, Any] = {name: getattr(v, name) for name in ("verdict", "reason", "evidence", "source", "needs")}
    found |= {name: getattr(v, name) for name in ("untried", "files", "scale", "trials", "data_seeds", "error")}
    found |= {"expected_metrics": v.expected, "cases": v.cases}
    if v.decider is not None:
        found |= {"value": v.decider.value, "low": v.decider.low, "high": v.decider.high}
        found |= {"where": dict(v.decider.labels), "groups": len(v.groups)}
    return found
