"""--json of every verb that has it: into a file, or to standard output with everything else on standard error."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., subprocess.CompletedProcess[str]]
AUDIT = ("audit", "zero", "--pairs", "4")
CLAIMS = ("claims", "epicrec", "--find", "budget")


@pytest.mark.parametrize("words", [AUDIT, CLAIMS, ("list", "tasks")])
def test_printed(words: tuple[str, ...], dpbench: Call) -> None:
    done = dpbench(*words, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize("words", [AUDIT, CLAIMS])
def test_written(words: tuple[str, ...], dpbench: Call, tmp_path: Path) -> None:
    done = dpbench(*words, "--json", "out/found.json")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "found.json").read_text())
    assert "{" not in done.stdout


@pytest.mark.parametrize("verb", ["audit", "claims", "check"])
def test_a_name_is_not_taken_for_a_file(verb: str, dpbench: Call, tmp_path: Path) -> None:
    """`audit --json lpa` would write a file `lpa` and audit everything."""
    done = dpbench(verb, "--json", "lpa")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--json lpa is not the name of a file such as found.json" in done.stderr
    assert not [*tmp_path.iterdir()]
