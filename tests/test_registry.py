"""The registry: only valid classes are instantiated, whatever a YAML names, and several threads find everything at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dpbench import Counts, Mechanism, Noise
from dpbench.config.compose import compose
from dpbench.engine.plan import make_plan
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.registry import Registry
from dpbench.sources.base import SOURCES
from dpbench.tasks.base import TASKS

from support import door
from support.paths import ROOT

Call = Callable[..., "subprocess.CompletedProcess[str]"]
REFUSED = (
    "subprocess.Popen",
    "os.system",
    "os.path",
    "builtins.eval",
    "pathlib.Path",
    "dpbench.mechanisms.base.parse_epsilon",
)


@pytest.mark.parametrize("registry", [MECHANISMS, TASKS, SOURCES], ids=lambda r: r.what)
@pytest.mark.parametrize("name", REFUSED)
def test_nothing_else_is_made(registry: Registry[Any], name: str) -> None:
    with pytest.raises(
        UserError, match=rf"{registry.what} '{name}' is (a \w+, expected a class|not a {registry.what})"
    ):
        registry.make(name)
    with pytest.raises(UserError):
        registry.parameters(name)


def test_a_class_of_another_family_is_refused() -> None:
    with pytest.raises(UserError, match="is not a task: the class has no method `score`"):
        TASKS.get("dpbench.mechanisms.gs.grouping.GS")


def test_a_yaml_that_names_a_command_does_not_run_it(dpbench: Call, tmp_path: Path) -> None:
    """As mechanism, task and dataset, with the arguments that would make the file."""
    home = tmp_path / "mine"
    evil = f"[touch, {tmp_path / 'EVIL'}]"
    entries = {
        "mechanism": f"evil: {{class: subprocess.Popen, args: [{evil}]}}",
        "task": f"evil: {{class: subprocess.Popen, args: [{evil}]}}",
        "dataset": f"evil: {{kind: incidence, source: generator, generator: subprocess.Popen, args: [{evil}]}}",
    }
    for group, text in entries.items():
        (home / group).mkdir(parents=True)
        (home / group / "evil.yaml").write_text(text + "\n")
        done = dpbench(
            "run",
            "--config-dir",
            "mine",
            "experiment=gs/fig9",
            "scale=smoke",
            "dataset=[trajectory]",
            f"{group}=[evil]",
            "dry=true",
        )
        assert done.returncode == 2, done.stdout
        assert "'subprocess.Popen' is not a " in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "EVIL").exists()


class Bare:
    def __init__(self, factor: float = 1.0, *, bound: int = 3) -> None:
        self.factor, self.bound = factor, bound

    def release(self, data: Any, epsilon: float, rng: Any) -> None: ...


class Anything(Bare):
    def __init__(self, **parameters: Any) -> None:
        super().__init__()
        if parameters.get("factor") == 0:
            raise ZeroDivisionError("factor is 0")


@dataclass
class Plain:
    factor: float = 1.0

    def release(self, data: Any, epsilon: float, rng: Any) -> None: ...


def test_classes_that_are_no_frozen_dataclasses(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    mine = types.ModuleType("mine_for_the_registry")
    mine.Bare, mine.Plain, mine.Anything = Bare, Plain, Anything  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, mine.__name__, mine)
    assert MECHANISMS.make(f"{mine.__name__}.Plain", factor=2).factor == 2
    assert MECHANISMS.make(f"{mine.__name__}.Bare", bound=2).bound == 2
    assert MECHANISMS.parameters(f"{mine.__name__}.Bare") == ["factor", "bound"]
    assert MECHANISMS.parameters(f"{mine.__name__}.Anything") is None
    with pytest.raises(UserError, match=r"has no parameter 'bond': did you mean 'bound'\?"):
        MECHANISMS.make(f"{mine.__name__}.Bare", bond=2)
    with pytest.raises(UserError, match=r"Anything': factor is 0"):
        MECHANISMS.make(f"{mine.__name__}.Anything", factor=0)


MINE = """from dataclasses import dataclass
from dpbench import Counts, Mechanism

@dataclass
class Plain:
    factor: float = 1.0

    def release(self, data, epsilon, rng):
        return Counts(counts=data.counts + rng.laplace(0, self.factor * data.largest_row / epsilon, data.columns))
"""


def test_a_plain_dataclass_runs(dpbench: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "conf" / "mechanism").mkdir(parents=True)
    (tmp_path / "conf" / "mechanism" / "plain.yaml").write_text("plain: {class: mine.Plain}\n")
    words = ("run", "--config-dir", "conf", "scale=smoke", "dataset=[trajectory]", "mechanism=[plain]", "epsilon=[1]")
    done = dpbench(*words, "trials=2", "tracking=none", "figure=false", "runner.jobs=1")
    assert done.returncode == 0, done.stderr
    assert "2 trials computed, 0 found finished, 0 failed" in done.stdout
    wrong = dpbench(*words, "mechanism.plain.facto=2", "dry=true")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "has no parameter 'facto': did you mean 'factor'?" in wrong.stderr
    # A subclass of a frozen dataclass must be frozen: Python's own message, with the remedy, instead of a traceback.
    (tmp_path / "mine.py").write_text(MINE.replace("class Plain:", "class Plain(Mechanism):"))
    thawed = dpbench(*words, "dry=true")
    assert (thawed.returncode, thawed.stderr.count("\n")) == (2, 1)
    assert "mine.py, line 4: TypeError" in thawed.stderr
    assert "write @dataclass(frozen=True, kw_only=True)" in thawed.stderr


THREADS = """
import sys, threading
sys.setswitchinterval(1e-6)
from dpbench.mechanisms.base import MECHANISMS
from dpbench.sources.base import SOURCES
from dpbench.tasks.base import TASKS

start, problems = threading.Barrier(8), []

def look(number):
    try:
        start.wait()
        for registry, name in ((SOURCES, "incidence"), (MECHANISMS, "gs"), (TASKS, "leaderboard"))[:: 1 if number % 2 else -1]:
            registry.make(name) if registry is not SOURCES else registry.get(name)
            assert len(registry.names()) > 5, registry.names()
    except Exception as error:
        problems.append(repr(error))

threads = [threading.Thread(target=look, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
assert not any(thread.is_alive() for thread in threads), "they wait for each other"
print(problems)
"""


def test_eight_threads_at_a_cold_start() -> None:
    """In a fresh interpreter, where nothing is loaded: each thread finds everything."""
    done = subprocess.run([sys.executable, "-c", THREADS], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_a_broken_plugin_is_left_out(dpbench: Call, tmp_path: Path) -> None:
    """One that cannot be imported, and one that is no mechanism: a line each, and every verb goes on."""
    info = tmp_path / "installed" / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dpbench.mechanisms]\ngone = nowhere:X\nodd = os:system\n")
    installed = door.environment(PYTHONPATH=f"{ROOT}{os.pathsep}{info.parent}")
    done = door.dpbench("list", "mechanisms", cwd=tmp_path, env=installed)
    assert done.returncode == 0
    assert done.stderr.count("is left out") == 2
    assert " lpa " in done.stdout


MADE: list[object] = []


@dataclass(frozen=True, kw_only=True)
class Counted(Mechanism):
    """Notes every instance that is made of it."""

    step: float = 1.0

    def __post_init__(self) -> None:
        MADE.append(self.step)

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=noise.laplace(data.counts, scale=self.step / epsilon))


class Loose:
    """No frozen dataclass: it may change while it is used."""

    def __init__(self, step: float = 1.0) -> None:
        MADE.append(step)

    def release(self, data: Any, epsilon: float, rng: Any) -> Counts:
        return Counts(counts=data.counts)


def test_a_mechanism_is_made_once_for_configuration_and_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To check the run, to see how it differs from its experiment, and to plan it for each dataset and epsilon."""
    monkeypatch.setitem(sys.modules, "counted", sys.modules[__name__])
    (tmp_path / "conf" / "mechanism").mkdir(parents=True)
    (tmp_path / "conf" / "mechanism" / "counted.yaml").write_text("counted: {class: counted.Counted}\n")
    words = {"mechanism": ["counted"], "mechanism.counted.step": [2.0, 3.0], "dry": True, "results": tmp_path / "r"}
    MADE.clear()
    plan = make_plan(compose("gs/fig9", "smoke", words, [tmp_path / "conf"]))
    assert len(plan.run.settings) > 2
    assert MADE == [2.0, 3.0]


def test_only_what_cannot_change_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "counted", sys.modules[__name__])
    registry: Registry[Any] = Registry("mechanism", "dpbench.mechanisms", method="release")
    one = registry.shared("counted.Counted", step=5)
    assert registry.shared("counted.Counted", step=5) is one
    for other in (5.0, 6):
        assert registry.shared("counted.Counted", step=other) is not one
    assert repr(registry.shared("counted.Counted", step=5.0).step) == "5.0", "equal, and not the same"
    assert registry.shared("counted.Loose") is not registry.shared("counted.Loose")
