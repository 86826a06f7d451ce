"""The verbs as a user meets them: what they print, what they leave behind, and what wrong use gives."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support import door
from support.paths import ROOT

Call = Callable[..., "subprocess.CompletedProcess[str]"]
QUICK = ("run", "scale=smoke", "dataset=[trajectory]", "mechanism=[lpa]", "tracking=none", "figure=false")

WRONG = {
    "epsilon=0": "epsilon=0 is not valid: expected a positive number, ln2 or ln3",
    "epsilon=[0.5,-1]": "epsilon=-1 is not valid",
    "epsilon=nan": "epsilon=nan is not valid",
    "epsilon=inf": "epsilon=inf is not valid",
    "epsilon=much": "epsilon='much' is not valid",
    "epsilon=ln1": "epsilon='ln1' is not valid",
    "epsilon=[]": "expected at least one",
    "epsilon=[0.1": "cannot read 'epsilon=[0.1'",
    "trials=0": "trials=0 is not valid: expected a positive whole number",
    "trials=2.5": "trials=2.5 is not valid",
    "trails=3": "unknown setting 'trails': did you mean 'trials'?",
    "mechanism=[lpaa]": "unknown mechanism 'lpaa': did you mean 'lpa'?",
    "mechanism=[]": "no mechanism is chosen",
    "mechanism.lpa.bond=3": "mechanism 'lpa' has no parameter 'bond': did you mean 'bound'?",
    "mechanism.lpa.bound=wide": "bound='wide' is not valid",
    "mechanism.lpx.bound=3": "mechanism 'lpx' is not in this run: did you mean 'lpa'?",
    "dataset=[trajectori]": "unknown dataset 'trajectori': did you mean 'trajectory'?",
    "dataset.trajectory.row=5": "dataset 'trajectory' has no parameter 'row': did you mean 'rows'?",
    "dataset.trajectory.source=disk": "dataset.trajectory.source='disk' is not valid",
    "experiment=gs/fig99": "unknown experiment 'gs/fig99': did you mean 'gs/fig9'?",
    "experiment=fig10": "unknown experiment 'fig10': did you mean 'gs/fig10'?",
    "scale=huge": "unknown scale 'huge'",
    "runner.jobs=0": "runner.jobs=0 is not valid",
    "runner=dusk": "unknown runner 'dusk': did you mean 'dask'?",
    "seed=-1": "seed=-1 is not valid",
}


@pytest.mark.parametrize("word", WRONG)
def test_wrong_use_is_one_line_and_status_2(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    from dpbench.cli import main

    assert main([*QUICK, "dry=true", word]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("dpbench: ")
    assert shown.err.count("\n") == 1
    assert WRONG[word] in shown.err


def test_wrong_use_from_outside(dpbench: Call, tmp_path: Path) -> None:
    done = dpbench("run", "epsilon=0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dpbench: epsilon=0 is not valid: expected a positive number, ln2 or ln3\n"
    early = dpbench("--config-dir", "conf", "list")
    assert (early.returncode, early.stderr.partition(":")[2].strip()[:39]) == (
        2,
        "--config-dir comes before the verb: exp",
    )
    assert dpbench("rum").stderr == "dpbench: unknown verb 'rum': did you mean 'run'?\n"
    assert dpbench("list", "mechanism").returncode == 2
    assert dpbench("figures", "gs/fig77").returncode == 2
    assert dpbench("run", "--config-dir", "nowhere").returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_run_leaves_nothing_but_results(dpbench: Call, tmp_path: Path) -> None:
    """One run and a sweep: table, summary, no outputs/ or multirun/ beside the results."""
    done = dpbench(*QUICK, "trials=3", "epsilon=[0.1,ln2]")
    assert done.returncode == 0, done.stderr
    assert "6 trials computed, 0 found finished, 0 failed" in done.stdout
    assert "0.6931" in done.stdout
    swept = dpbench(*QUICK, "-m", "trials=3", "seed=1,2")
    assert swept.returncode == 0, swept.stderr
    assert swept.stdout.count("9 trials computed") == 2
    assert [p.name for p in tmp_path.iterdir()] == ["results"]


def test_help_shows_our_groups(dpbench: Call) -> None:
    text = dpbench("run", "--help").stdout
    for word in ("gs/fig9", "mechanism: ", "trajectory", "scale: laptop, paper, smoke", "python -m dpbench run"):
        assert word in text
    assert "run " in dpbench("--help").stdout
    assert "epsilon:" in dpbench("run", "--cfg", "job").stdout
    assert "lpa:" in dpbench("run", "--cfg", "job", "mechanism=[lpa]").stdout


def test_every_mechanism_is_listed_with_its_caveats(dpbench: Call) -> None:
    from dpbench.mechanisms import MECHANISMS

    text = dpbench("list", "mechanisms").stdout
    for name in MECHANISMS.names():
        assert f" {name} " in text
    assert "NOT PRIVATE" in text
    for what in ("datasets", "experiments", "tasks"):
        assert dpbench("list", what).returncode == 0
    assert "Figure 9" in dpbench("list", "experiments").stdout


def test_figures_come_from_the_store_alone(dpbench: Call, tmp_path: Path) -> None:
    dpbench("run", "experiment=gs/fig7", "scale=smoke", "tracking=none", "figure=false", "dataset=[trajectory]")
    assert not (tmp_path / "results" / "figures").exists()
    done = dpbench("figures")
    assert done.returncode == 0
    assert "experiments have not been run yet, such as " in done.stdout, "one line, not one for each"
    asked = dpbench("figures", "gs/fig7", "gs/fig9")
    assert "missing: gs/fig9: python -m dpbench run experiment=gs/fig9" in asked.stdout
    for suffix in ("png", "pdf", "csv"):
        assert (tmp_path / "results" / "figures" / "gs" / f"fig7.{suffix}").stat().st_size > 100
    first = (tmp_path / "results" / "figures" / "gs" / "fig7.png").read_bytes()
    dpbench("figures", "gs/fig7")
    assert first == (tmp_path / "results" / "figures" / "gs" / "fig7.png").read_bytes()
    assert dpbench("figures", "gs/fig8").returncode == 1


def test_light_verbs_import_nothing_heavy() -> None:
    """`list` and `--help` start without mlflow, matplotlib, numba, scipy, pandas, clarabel or pyarrow."""
    import sys

    code = (
        "import sys, io, contextlib\nfrom dpbench.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n    main(['list', 'mechanisms']); main(['--help'])\n"
        "print([m for m in ('mlflow', 'matplotlib', 'numba', 'scipy', 'pandas', 'clarabel', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_completion_follows_the_configuration() -> None:
    from dpbench.cli.completion import candidates

    assert "run" in candidates("dpbench r")
    assert "experiment=gs/fig9" in candidates("dpbench run scale=smoke experiment=gs/fi")
    assert "mechanism=" in candidates("dpbench run m")
    assert candidates("dpbench list ex") == ["experiments"]
    assert candidates("python -m dpbench ru") == ["run"]
    assert "mechanism=[lpa,gs_mean" in candidates("python3 -m dpbench run mechanism=[lpa,gs_")
    assert candidates("python -m dpbench run 'dataset=[netf") == ["'dataset=[netflix]", "'dataset=[netflix,"]
    assert "mechanism.gs.w=" in candidates("python -m dpbench run mechanism.gs.")
    assert candidates("dpbench run dataset.table.us") == ["dataset.table.user="]


def test_a_file_of_the_current_folder_never_replaces_an_installed_module(tmp_path: Path) -> None:
    """With PYTHONSAFEPATH, Python does not search the current folder, and dpbench searches it last."""
    (tmp_path / "rich.py").write_text("open('touched', 'w')")
    env = door.environment(PYTHONSAFEPATH="1")
    done = door.cold("list", "tasks", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "touched").exists()
