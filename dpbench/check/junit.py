"""A comparison as a JUnit file: a suite an experiment, a test case a cell."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from dpbench.check.comparison import ORDER, SAME, Comparison, Entry
from dpbench.claims.verdicts import describe


def write(path: Path, found: Comparison, bad: set[str]) -> None:
    """`bad`: the statuses that are failures; others that moved are told in the case's output."""
    root = ET.Element("testsuites", name="dpbench check")
    for experiment in dict.fromkeys(e.experiment for e in found.entries):
        cells: dict[str, list[Entry]] = {}
        for entry in found.entries:
            if entry.experiment == experiment:
                cells.setdefault(describe(entry.labels), []).append(entry)
        suite = ET.SubElement(root, "testsuite", name=experiment, tests=str(len(cells)))
        failures = sum([_case(suite, experiment, name, entries, bad) for name, entries in cells.items()])
        # What only shows over all cells of a mechanism has no cell of its own.
        alone = [
            g for g in found.groups if g.experiment == experiment and g.status in bad and not _shown(g, found, bad)
        ]
        failures += sum([_case(suite, experiment, f"all cells of {g.mechanism}", [g], bad) for g in alone])
        suite.set("tests", str(len(cells) + len(alone)))
        suite.set("failures", str(failures))
    if not found.compared:
        suite = ET.SubElement(root, "testsuite", name="check", tests="1", failures="1")
        case = ET.SubElement(suite, "testcase", classname="check", name="something was measured")
        ET.SubElement(case, "failure", message="nothing was measured that can be compared with the baselines")
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _shown(group: Entry, found: Comparison, bad: set[str]) -> bool:
    return any(entry.group == group.group and entry.status in bad for entry in found.entries)


def _case(suite: ET.Element, experiment: str, name: str, entries: list[Entry], bad: set[str]) -> int:
    case = ET.SubElement(suite, "testcase", classname=experiment, name=name)
    moved = sorted((e for e in entries if e.status != SAME), key=lambda e: ORDER.index(e.status))
    if not moved:
        return 0
    text = "\n".join(_line(entry) for entry in moved)
    if moved[0].status in bad:
        ET.SubElement(case, "failure", message=_line(moved[0]), type=moved[0].status).text = text
        return 1
    ET.SubElement(case, "system-out").text = text
    return 0


def _line(entry: Entry) -> str:
    if not entry.metric:
        return f"{entry.status} {entry.note}".strip()
    return f"{entry.status}: {entry.metric} {entry.old:.6g} -> {entry.new:.6g}, p = {entry.p:.2g} {entry.note}".strip()
