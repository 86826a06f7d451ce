"""Completion as bash asks for it: the function of the printed script, given a line, and what it offers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


def offered(line: str, folder: Path) -> list[str]:
    """What bash would put in place of the word that it sees."""
    script = f"""
python() {{ "{sys.executable}" "$@"; }}
source <(python -m dpbench completion bash)
COMP_LINE="$LINE" COMP_POINT=${{#LINE}}
_dpbench
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LINE": line}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("python -m dpbench run mechanism=[lpa,knor", ["[lpa,knorm_counts]", "[lpa,knorm_counts,"]),
        # bash hands a quoted word over as a whole: it must be replaced as a whole, too.
        (
            "python -m dpbench run 'mechanism=[lpa,knor",
            ["mechanism=[lpa,knorm_counts]", "mechanism=[lpa,knorm_counts,"],
        ),
        ("python -m dpbench run mechanism.gs.samp", ["mechanism.gs.sampling="]),
        ("python3 -m dpbench reproduce sens", ["sensitivity"]),
        ("python -m dpbench run reading=fpa_rho.on", ["fpa_rho.one"]),
    ],
)
def test_lists_parameters_and_names(line: str, words: list[str], tmp_path: Path) -> None:
    assert offered(line, tmp_path) == words


def test_an_experiment_of_ones_own_is_offered_once(tmp_path: Path) -> None:
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / "conf" / "experiment" / "sweep.yaml").write_text("experiment: {title: t}\n")
    assert offered("python -m dpbench run experiment=swe", tmp_path) == ["sweep"]
