"""Output works on terminals with few characters: missing ones are replaced by readable ones, and nothing fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpbench.cli.dispatch import VERBS
from dpbench.cli.streams import plain, writable

from support.paths import ROOT

# Every verb's help, every list, a plan and an error, one after the other in one process.
EVERYTHING = f"""
import sys
from dpbench.cli import main
lines = [[verb, "--help"] for verb in {list(VERBS)!r}] + [["--help"]]
lines += [["list", what] for what in ("mechanisms", "datasets", "experiments", "tasks")]
lines += [["run", "experiment=gs/fig9", "scale=smoke", "dry=true"], ["data", "list"], ["data", "show", "running_example"]]
lines += [["run", "epsilon=ε"], ["audit", "lpa", "--pairs", "3"]]
for line in lines:
    print("=====", *(repr(word) for word in line if word.isascii()))
    try:
        status = main(line)
    except SystemExit as end:
        status = end.code
    print("exit status:", status)
    sys.stdout.flush()
"""


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_every_verb(encoding: str, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "0"}
    command = [sys.executable, "-c", EVERYTHING]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=300)
    out, err = done.stdout.decode(encoding), done.stderr.decode(encoding)
    assert done.returncode == 0, err
    assert "Traceback" not in err
    statuses = [line.split()[2] for line in out.splitlines() if line.startswith("exit status: ")]
    assert statuses.count("2") == 1, "only the wrong epsilon"
    assert set(statuses) <= {"0", "2"}
    assert "\\u" not in out
    assert "?" not in _letters(out), "every letter of ours has a readable one"
    if encoding == "utf-8":
        assert "ε" in out
        assert "│" in out
    else:
        assert "eps" in out
        assert "epsilon='eps' is not valid" in err
        assert "│" not in out
        _check_columns(out)


def _letters(out: str) -> str:
    """The output without the questions that it asks itself."""
    return "\n".join(line for line in out.splitlines() if "did you mean" not in line)


def _check_columns(out: str) -> None:
    """The rows of the list of mechanisms are of one width: characters were replaced before the table was laid out."""
    table = out.partition("'list' 'mechanisms'")[2].partition("exit status:")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len({len(row) for row in rows}) == 1
    assert len(rows) > 20


def test_letters() -> None:
    assert writable("ε = 1 ± 2 ≥ ∞ é", "ascii") == "eps = 1 +- 2 >= inf e"
    assert writable("ε ± é", "cp1252") == "eps ± é"
    assert writable("ε", "utf-8") == "ε"
    assert writable("ε", "no such encoding") == "ε"
    assert plain("日") == "?"


def test_every_letter_of_ours_has_a_readable_one() -> None:
    files = [path for pattern in ("dpbench/**/*.py", "conf/**/*.yaml", "datasets/*.md") for path in ROOT.glob(pattern)]
    letters = {letter for path in files for letter in path.read_text(encoding="utf-8") if not letter.isascii()}
    assert len(letters) > 20
    assert [letter for letter in sorted(letters) if plain(letter) == "?"] == []
