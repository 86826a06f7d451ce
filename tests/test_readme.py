"""The README is true: its Python runs, its commands run, its stranger's mechanism runs beside ours, its ledger is the ledger."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from support import door
from support.paths import ROOT

Call = Callable[..., "subprocess.CompletedProcess[str]"]
TEXT = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
USE = TEXT.partition("## Use")[2].partition("## ")[0]
COMMANDS = re.findall(r"^python -m dpbench (.*?)(?: *#.*)?$", USE, re.MULTILINE)


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = next(code for code in PYTHON if "dpbench.mechanism(" in code)
    exec(compile(example, "README.md", "exec"), {})
    assert "'w':" in capsys.readouterr().out


def test_it_is_short_and_its_links_lead_somewhere() -> None:
    assert len(TEXT.splitlines()) <= 165
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len(links) > 15
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_its_figure_is_small() -> None:
    (figure,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", TEXT)
    assert (ROOT / figure).stat().st_size < 150_000


def test_the_winners_are_those_of_the_record() -> None:
    import readme
    import winners

    expected = winners.winners_table(ROOT / "results" / "record")
    assert readme.read_part("winners").strip() == expected.strip(), "write it again: python docs/_ext/winners.py"


def test_the_ledger_is_that_of_the_record() -> None:
    import ledger
    import readme

    expected = ledger.ledger_table(ROOT / "results" / "record")
    assert readme.read_part("ledger").strip() == expected.strip(), "write it again: python docs/_ext/ledger.py"


def test_the_commands_run(dpbench: Call) -> None:
    """In the order given; runs at smoke scale and with two trials, which is the same code on less data, and without MLflow;
    audits on five pairs."""
    assert len(COMMANDS) >= 5
    for command in COMMANDS:
        words = shlex.split(command)
        if words[0] == "run":
            kept = [word for word in words if not word.startswith(("scale=", "trials="))]
            words = [*kept, "scale=smoke", "trials=2", "tracking=none"]
        elif words[0] == "audit":
            words += ["--pairs", "5"]
        done = dpbench(*words)
        assert done.returncode == 0, f"{command}: {done.stderr}"


def test_a_strangers_mechanism_runs_beside_ours(dpbench: Call, tmp_path: Path) -> None:
    """Exactly what the README says: a class in mine.py, one command, no YAML."""
    section = TEXT.partition("## Your own mechanism")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert code.count("\n") <= 15
    (tmp_path / "mine.py").write_text(code)
    (command,) = re.findall(r"^python -m dpbench (.*)$", section, re.MULTILINE)
    done = dpbench(*shlex.split(command), "tracking=none")
    assert done.returncode == 0, done.stderr
    numbers = pd.read_csv(tmp_path / "results" / "figures" / "gs" / "fig9.csv")
    assert set(numbers["mechanism"]) == {"lpa", "gs", "Rounded"}
    assert (tmp_path / "results" / "figures" / "gs" / "fig9.png").is_file()


def test_an_entry_point_gives_a_mechanism_a_name(tmp_path: Path) -> None:
    """What an installed package declares: a class under the entry-point group `dpbench.mechanisms`."""
    info = tmp_path / "installed" / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (info.parent / "theirs.py").write_text((ROOT / "tests" / "strangers.py").read_text())
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dpbench.mechanisms]\ntheir_noise = theirs:Noisy\n")
    installed = door.environment(PYTHONPATH=f"{ROOT}{os.pathsep}{info.parent}")
    dpbench = functools.partial(door.dpbench, cwd=tmp_path, env=installed)
    assert "their_noise" in dpbench("list", "mechanisms").stdout
    words = ("run", "dataset=[trajectory]", "mechanism=[lpa,their_noise]", "scale=smoke")
    done = dpbench(*words, "tracking=none", "figure=false")
    assert done.returncode == 0, done.stderr
    assert "their_noise" in done.stdout
