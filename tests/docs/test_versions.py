"""The changelog has dated versions, and the newest of them is the version that the package and its citation state."""

from __future__ import annotations

import datetime
import re
import tomllib

import yaml

import dpbench

from support.paths import ROOT

HEADS = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_versions_are_dated_newest_first() -> None:
    found = [
        re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \((\d{4}-\d{2}-\d{2})\)", head) for head in HEADS if head != "Unreleased"
    ]
    assert found
    assert all(found), HEADS
    numbers = [tuple(map(int, one.groups()[:3])) for one in found if one]
    dates = [datetime.date.fromisoformat(one[4]) for one in found if one]
    assert numbers == sorted(numbers, reverse=True)
    assert dates == sorted(dates, reverse=True)


def test_one_version_everywhere() -> None:
    newest = next(head.split()[0] for head in HEADS if head != "Unreleased")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert newest == project["version"] == dpbench.__version__ == str(cited["version"])
