"""A comparison as a JUnit file: one suite per experiment, one test case per cell, with the time its trials took."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from dpbench.gate.entries import ORDER, SAME, ColumnResult
from dpbench.gate.outcome import GateOutcome
from dpbench.model.verdict import describe


def write(path: Path, outcome: GateOutcome) -> None:
    """Write the file. Moves that do not fail are listed in the output of their case."""
    comparison, bad = outcome.comparison, outcome.bad
    root = ET.Element("testsuites", name="dpbench check", time=f"{outcome.seconds:.6f}")
    for experiment in dict.fromkeys(entry.experiment for entry in (*comparison.entries, *comparison.groups)):
        seconds = _seconds(outcome, experiment)
        cells: dict[str, list[ColumnResult]] = {}
        for entry in comparison.entries:
            if entry.experiment == experiment:
                cells.setdefault(describe(entry.labels), []).append(entry)
        suite = ET.SubElement(root, "testsuite", name=experiment, time=f"{sum(seconds.values()):.6f}")
        failures = 0
        for name, entries in cells.items():
            failures += _case(suite, experiment, name, entries, bad, seconds.get(name, 0.0))
        # A move that is significant only in several cells together gets its own test case.
        shown = {entry.group for entry in comparison.entries if entry.status in bad}
        alone = [
            g for g in comparison.groups if g.experiment == experiment and g.status in bad and g.group not in shown
        ]
        for group in alone:
            failures += _case(suite, experiment, _together(group), [group], bad, 0.0)
        suite.set("tests", str(len(cells) + len(alone)))
        suite.set("failures", str(failures))
    if not comparison.compared:
        suite = ET.SubElement(root, "testsuite", name="check", tests="1", failures="1")
        case = ET.SubElement(suite, "testcase", classname="check", name="something was measured")
        ET.SubElement(case, "failure", message="nothing was measured that can be compared with the baselines")
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _seconds(outcome: GateOutcome, experiment: str) -> dict[str, float]:
    """How long the trials of each cell took, by its description."""
    body = outcome.new.get(experiment)
    return {describe(cell.labels): cell.seconds for cell in body.cells.values()} if body else {}


def _together(group: ColumnResult) -> str:
    of = " ".join(filter(None, [group.mechanism, group.metric]))
    return f"all cells of {of}" if group.labels else of


def _case(
    suite: ET.Element, experiment: str, name: str, entries: list[ColumnResult], bad: frozenset[str], seconds: float
) -> int:
    case = ET.SubElement(suite, "testcase", classname=experiment, name=name, time=f"{seconds:.6f}")
    moved = sorted((e for e in entries if e.status != SAME), key=lambda e: ORDER.index(e.status))
    if not moved:
        return 0
    text = "\n".join(_line(entry) for entry in moved)
    if moved[0].status in bad:
        ET.SubElement(case, "failure", message=_line(moved[0]), type=moved[0].status).text = text
        return 1
    ET.SubElement(case, "system-out").text = text
    return 0


def _line(entry: ColumnResult) -> str:
    if not entry.metric:
        return f"{entry.status} {entry.note}".strip()
    numbers = f" {entry.old:.6g} -> {entry.new:.6g}, p = {entry.p:.2g}" if entry.old == entry.old else ""
    return f"{entry.status}: {entry.metric}{numbers} {entry.note}".strip()
