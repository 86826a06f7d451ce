"""A run with noise=exact, through the front door: what is left out and why, where it shows, and that float runs stay the same."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpbench.config.compose import compose
from dpbench.engine.plan import make_plan
from dpbench.figures.draw import notes

from support.homes import RUN, only_run, trials

Call = Callable[..., "subprocess.CompletedProcess[str]"]
PLAIN = """import numpy as np
from dpbench import Counts

class Plain:
    def release(self, data, epsilon, rng):
        return Counts(counts=data.counts + rng.laplace(0, 1 / epsilon, data.columns))
"""


def test_a_run_with_exact_noise(dpbench: Call, home: Path) -> None:
    (home / "plain.py").write_text(PLAIN)
    (home / "mine/mechanism/plain.yaml").write_text("plain: {class: plain.Plain}\n")
    words = (*RUN, "mechanism=[lpa,noisy,linf,fpa,plain]", "epsilon=[1]", "trials=4", "noise=exact")
    planned = dpbench(*words, "dry=true")
    assert "left out: linf on small: no exact noise: noise on a ball" in planned.stdout
    done = dpbench(*words)
    assert done.returncode == 0
    assert "left out: fpa on small: no exact noise: Fourier coefficients" in done.stderr
    assert "left out: plain on small: no exact noise: its `release` takes no `noise`" in done.stderr
    assert "8 trials computed, 0 found finished, 0 failed" in done.stdout
    assert "noise=exact" in done.stdout
    assert "Exact noise, drawn with integers only" in done.stdout
    run = only_run(home / "results")
    assert {setting.noise for setting in run.settings} == {"exact"}
    assert "exact noise" in " ".join(notes(run))
    assert set(trials(home / "results")["noise"]) == {"exact"}
    # Errors of whole counts are whole: in steps of 1/25, the number of columns.
    maes = run.trials()["metric.mae"].to_numpy() * 25
    assert np.allclose(maes, np.rint(maes))
    assert "0 trials computed, 8 found finished" in dpbench(*words).stdout
    # Float noise is another setting, which says nothing of it.
    plain = dpbench(*words[:-1])
    assert "20 trials computed, 0 found finished" in plain.stdout
    assert "noise=" not in plain.stdout
    assert "noise" not in trials(home / "results").columns


def test_nothing_left_is_wrong_use(dpbench: Call, home: Path) -> None:
    done = dpbench(*RUN, "mechanism=[linf]", "epsilon=[1]", "noise=exact")
    assert done.returncode == 2
    assert "nothing fits together in this run: linf on small: no exact noise" in done.stderr


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("noise=exat", "noise='exat' is not valid: did you mean 'exact'"),
        ("noise=true", "noise=True is not valid: expected one of: exact, float"),
        ("nois=exact", "did you mean 'noise'"),
    ],
)
def test_wrong_words(dpbench: Call, word: str, message: str) -> None:
    done = dpbench("run", "experiment=gs/fig9", "scale=smoke", word)
    assert done.returncode == 2
    assert message in done.stderr


def test_keys_are_those_of_before_unless_noise_is_chosen(tmp_path: Path) -> None:
    """A key seeds the trials: float noise keeps its own, which is written down here."""
    chosen = {"dataset": ["trajectory"], "mechanism": ["lpa"], "epsilon": [1], "results": str(tmp_path), "dry": True}
    keys = [
        make_plan(compose("gs/fig9", "smoke", {**chosen, **more})).run.settings[0].key
        for more in ({}, {"noise": "float"}, {"noise": "exact"})
    ]
    assert keys[0] == keys[1] == KEY
    assert keys[2] != KEY


KEY = "974f5ffdbaf1e8a0cec6565e16bae402"


def test_list_says_who_has_exact_noise(dpbench: Call) -> None:
    shown = dpbench("list", "mechanisms").stdout
    assert "exact noise" in shown
    assert "float noise is for research" in shown.lower()
    assert 'rng="secure"' in shown
