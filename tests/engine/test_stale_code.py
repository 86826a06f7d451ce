"""On the command line: code that changed is run again, and code that did not is not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import copy_package

COMMAND = [
    "run",
    "dataset=[grouping_example]",
    "mechanism=[lpa]",
    "scale=smoke",
    "trials=3",
    "tracking=none",
    "figure=false",
]


class Copy:
    """A copy of the package, with its configuration, that a test may change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("dpbench", "conf", "datasets", "experiments"):
            copy_package(folder / "code", part)
        (folder / "work").mkdir()

    def run(self, *more: str) -> tuple[int, str]:
        """How many trials were computed, and the output."""
        environment = os.environ | {
            "PYTHONPATH": str(self.folder / "code"),
            "DPBENCH_CACHE": str(self.folder / "cache"),
            "NUMBA_CACHE_DIR": str(self.folder / "cache" / "numba"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "200",
        }
        command = [sys.executable, "-m", "dpbench", *COMMAND, *more]
        work = self.folder / "work"
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=300)
        output = done.stdout + done.stderr
        assert done.returncode == 0, output
        found = re.search(r"(\d+)(?: trials)? computed", output)
        assert found, output
        return int(found[1]), output

    def change(self, file: str, before: str, after: str) -> None:
        path = self.folder / "code" / "dpbench" / file
        text = path.read_text()
        assert text.count(before) == 1
        path.write_text(text.replace(before, after))

    def append(self, file: str, text: str) -> None:
        with (self.folder / "code" / "dpbench" / file).open("a") as end:
            end.write(f"\n\n{text}")


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def mae(output: str) -> float:
    """The error in the table of a run."""
    found = re.search(r"\blpa\b[^\n]*?([\d,]+\.?\d*(?:e[+-]?\d+)?) ± ", output)
    assert found, output
    return float(found[1].replace(",", ""))


def test_code_that_changed_runs_again_and_no_other(copy: Copy) -> None:
    """`Incidence.largest_row` times ten is ten times the noise of LPA, which has it from dpbench.data's `__init__`."""
    computed, output = copy.run()
    assert computed
    copy.append("data/incidence.py", "# A comment.\n")
    for file in ("mechanisms/gs/grouping.py", "errors.py", "registry.py", "paths.py", "cli/run.py"):
        copy.append(file, "UNUSED = 1\n")
    assert copy.run()[0] == 0
    row = "return int(self.row_sizes.max(initial=0))"
    copy.change("data/incidence.py", row, row.replace("int(", "10 * int("))
    again, changed = copy.run()
    assert again == computed
    assert mae(changed) > 5 * mae(output)


OUTER = """
from dataclasses import dataclass
from dpbench.mechanisms.base import MECHANISMS, ColumnMechanism

@dataclass(frozen=True, kw_only=True)
class Outer(ColumnMechanism):
    inside: str = "inner.Inner"

    def __post_init__(self):
        object.__setattr__(self, "held", MECHANISMS.make(self.inside))

    def publish_columns(self, columns, epsilon, noise):
        return self.held.publish_columns(columns, epsilon, noise)
"""

INNER = """
from dataclasses import dataclass
from dpbench.mechanisms.baselines.laplace import LPA

@dataclass(frozen=True, kw_only=True)
class Inner(LPA):
    def sensitivity(self, data):
        return 1 * super().sensitivity(data)
"""


def test_a_mechanism_held_by_another_counts(copy: Copy) -> None:
    """No import statement names the inner one: the instance that holds it does."""
    work = copy.folder / "work"
    (work / "outer.py").write_text(OUTER)
    (work / "inner.py").write_text(INNER)
    (work / "mine" / "mechanism").mkdir(parents=True)
    (work / "mine" / "mechanism" / "outer.yaml").write_text("outer: {class: outer.Outer}\n")
    words = ("--config-dir", "mine", "mechanism=[outer]")
    assert copy.run(*words)[0] == 9
    assert copy.run(*words)[0] == 0
    (work / "inner.py").write_text(INNER.replace("1 * super", "10 * super"))
    assert copy.run(*words)[0] == 9
