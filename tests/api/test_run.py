"""`dpbench.run` and its companions: objects beside names, identity of objects, and what they say of wrong use."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpbench
from dpbench import Counts, Incidence, Mechanism, Task
from dpbench.api.objects import variant
from dpbench.errors import UserError
from dpbench.identity import SESSION
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.metric import Metric


@dataclass(frozen=True, kw_only=True)
class Shifted(Mechanism):
    by: float = 1.0
    table: Any = None

    def publish(self, data: Any, epsilon: float, noise: Any) -> Counts:
        extra = 0.0 if self.table is None else float(np.sum(self.table))
        return Counts(counts=noise.laplace(data.counts, scale=1 / epsilon) * 0 + data.counts + self.by + extra)


class Odd:
    """A user's class without dataclass and base class."""

    def __init__(self, by: object) -> None:
        self.by = by

    def release(self, data: Any, epsilon: float, rng: np.random.Generator) -> Counts:
        return Counts(counts=data.counts + np.sum(self.by) + 0 * rng.random())  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Worst(Task):
    metrics = (Metric("worst", "largest error", "lower"),)

    def score(self, data: Any, release: Any, rng: np.random.Generator) -> dict[str, float]:
        return {"worst": float(np.abs(release.counts - data.counts).max())}


DATA = Incidence.from_pairs([1, 1, 2, 3, 3, 3], list("abaabc"))


def mae(tmp_path: Path, *mechanisms: object, **more: Any) -> dict[str, float]:
    options = {"dataset": {"mine": DATA}, "epsilon": [1.0], "trials": 2, "jobs": 1, "results": tmp_path} | more
    run = dpbench.run(mechanism=list(mechanisms), **options)
    frame = run.summary()
    return dict(zip(frame["mechanism"], frame["mae"], strict=True))


def test_objects_beside_names(tmp_path: Path) -> None:
    found = mae(tmp_path, "lpa", Shifted(by=3.0), ("strange", Odd(2)), Odd(5))
    assert {name: found[name] for name in ("Shifted", "strange", "Odd")} == {"Shifted": 3, "strange": 2, "Odd": 5}
    assert 0 < found["lpa"] < 100


def test_what_an_object_holds_is_part_of_its_identity(tmp_path: Path) -> None:
    """Plain values, arrays and attributes of users' classes: other content is another setting, never a stored result."""
    tables = [np.zeros(2000), np.r_[np.zeros(1000), 1.0, np.zeros(999)]]  # equal when they are printed
    assert [mae(tmp_path, Shifted(table=table))["Shifted"] for table in tables] == [1, 2]
    assert [mae(tmp_path, Odd(by))["Odd"] for by in (2, 3, [3, 4], np.arange(3))] == [2, 3, 7, 3]


def test_an_importable_object_is_the_same_as_its_name(tmp_path: Path) -> None:
    options: dict[str, Any] = {"dataset": {"mine": DATA}, "epsilon": [1.0], "trials": 2, "jobs": 1, "results": tmp_path}
    named = dpbench.run(mechanism="lpa", overrides={"mechanism.lpa.bound": 7}, **options)
    given = dpbench.run(mechanism=dpbench.mechanism("lpa", bound=7), **options)
    assert [s.id for s in named.settings] == [s.id for s in given.settings]
    assert given.settings[0].mechanism.instance is None


def test_data_are_named_by_their_content(tmp_path: Path) -> None:
    same = Incidence.from_pairs([3, 3, 3, 2, 1, 1], list("cabaab"))
    other = Incidence.from_pairs([1, 1, 2, 3, 3, 3], list("abaabd"))
    runs = [
        dpbench.run(dataset=[data], mechanism=["lpa"], epsilon=[1.0], trials=2, jobs=1, results=tmp_path)
        for data in (DATA, same, other)
    ]
    names = [run.settings[0].dataset.name for run in runs]
    assert names[0] == names[1] != names[2]
    assert names[0].startswith("incidence-")
    assert runs[0].settings[0].id == runs[1].settings[0].id
    assert repr(runs[0]) == f"Run({runs[0].name} at scale laptop: 1 setting, 2 trials each, in {tmp_path})"
    assert "own data, given in Python" in runs[0]._repr_html_()


def test_objects_in_an_experiment_and_own_tasks(tmp_path: Path) -> None:
    options: dict[str, Any] = {"scale": "smoke", "epsilon": [1.0], "trials": 2, "jobs": 1, "results": tmp_path}
    run = dpbench.run("gs/fig9", mechanism=["lpa", Shifted()], dataset=[("mine", DATA)], **options)
    assert run.name == "gs/fig9"
    assert any("mechanisms added: Shifted" in change for change in run.changes)
    assert dpbench.load(tmp_path, "gs/fig9").trials()["mechanism"].unique().tolist() == ["lpa", "Shifted"]
    worst = dpbench.run(dataset={"mine": DATA}, mechanism=[Shifted(by=4)], task=Worst(), **options)
    assert worst.trials()["metric.worst"].tolist() == [4, 4]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"mechanism": [3]}, "mechanism=3 is not valid: expected a name, or an object with `release`"),
        (
            {"mechanism": ["lpa"], "dataset": [[1, 2]]},
            r"dataset=\[1, 2\] is not valid: expected a name, or data such as",
        ),
        ({"mechanism": [Odd]}, "mechanism=Odd is a class that needs parameters"),
        (
            {"mechanism": ["lpa"], "dataset": pd.DataFrame({"who": ["ann"], "place": ["inn"]})},
            "data of type DataFrame can be read in several ways, or in none: give dpbench.Incidence.from_pandas",
        ),
        ({"mechanism": ["lpa"], "dataset": "visits.csv"}, "'visits.csv' looks like a file: expected dataset=table "),
        ({"mechanism": ["lppa"]}, "unknown mechanism 'lppa': did you mean 'lpa'"),
        ({"mechanism": {"lpa": Shifted()}, "dataset": {"a b": DATA}}, "the name 'a b' of a dataset is not valid"),
        ({"mechanism": ["lpa", ("lpa", Shifted())]}, "'lpa' is given by name and as an object"),
        ({"mechanism": [Shifted()], "task": [3]}, "task=3 is not valid: expected a name, or an object with `score`"),
    ],
)
def test_wrong_use(given: dict[str, Any], told: str, tmp_path: Path) -> None:
    options = {"dataset": [DATA], "trials": 2, "jobs": 1, "results": tmp_path} | given
    with pytest.raises(UserError, match=told):
        dpbench.run(**options)


def test_a_class_that_needs_no_parameters_stands_for_its_object() -> None:
    assert variant("", Shifted, MECHANISMS).name == "Shifted"


NO_SOURCE = """
import sys, dpbench
text = '''
class Mine:
    def release(self, data, epsilon, rng):
        from dpbench import Counts
        return Counts(counts=data.counts + %s)
'''
scope = {"__name__": "__main__"}
exec(text % sys.argv[1], scope)
data = dpbench.Incidence.from_rows([[0], [1]], columns=2)
run = dpbench.run(dataset={"d": data}, mechanism=[scope["Mine"]()], epsilon=[1.0], trials=2, jobs=int(sys.argv[2]),
                  overrides={"runner.timeout": 60} if sys.argv[2] == "1" else {})
print(run.trials()["metric.mae"].tolist())
"""


def test_without_source_nothing_is_resumed(tmp_path: Path) -> None:
    """Code without source may have changed: the second process computes its own, whatever the folder holds.

    The first with workers, the second under a time limit: the object reaches both kinds of processes.
    """
    (tmp_path / "main.py").write_text(NO_SOURCE)
    # Two processes of a user have nothing in common; a test before this one may have made this process a session.
    env = {name: value for name, value in os.environ.items() if name != SESSION}
    for by, jobs in (("1", "2"), ("2", "1")):
        words = [sys.executable, "main.py", by, jobs]
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == f"[{by}.0, {by}.0]"


def test_single_things_by_name(tmp_path: Path) -> None:
    assert dpbench.dataset("netflix", scale="smoke").statistics()["rows"] == 24009
    (tmp_path / "v.csv").write_text("who,place\na,x\nb,y\n")
    own = dpbench.dataset("table", path=str(tmp_path / "v.csv"), user="who", item="place")
    assert (own.kind, own.item_labels) == ("incidence", ("x", "y"))  # type: ignore[attr-defined]
    assert dpbench.task("column_counts", sanity=0.5).sanity == 0.5
    with pytest.raises(UserError, match="unknown dataset 'netfix': did you mean 'netflix'"):
        dpbench.dataset("netfix")


def test_what_is_lazy_is_listed() -> None:
    assert {"run", "load", "dataset", "task", "audit", "compare"} <= {*dir(dpbench)}


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    """No command is advised for an experiment that nobody defined."""
    mae(tmp_path, "lpa", name="mine")
    with pytest.raises(UserError, match="holds no run of mien: did you mean 'mine'") as error:
        dpbench.load(tmp_path, "mien")
    assert "experiment=mien" not in str(error.value)
    with pytest.raises(UserError, match="make one: python -m dpbench run experiment=gs/fig9"):
        dpbench.load(tmp_path, "gs/fig9")


def test_audit_by_the_name_of_a_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf/mechanism").mkdir(parents=True)
    (tmp_path / "conf/mechanism/few.yaml").write_text("few: {class: lpa, bound: 2}\n")
    assert dpbench.audit("few", pairs=4).table()["verdict"].tolist() == ["holds"]


def test_audit_of_an_object() -> None:
    import dpbench.auditing.judge  # the package is there under the same name, and can still be called

    found = dpbench.audit([dpbench.mechanism("lpa", bound=3), "zero"], pairs=8)
    assert found.table()["mechanism"].tolist()[0] == "lpa"
    assert (found.holds, found.violated, bool(found), len(found)) == (True, False, True, 2)
    assert "holds on 8 pairs" in repr(found)
    broken = dpbench.audit(Odd(3), pairs=4, seconds=5)
    assert broken.table()["violated"].tolist() == [True]
    assert (broken.holds, broken.violated, bool(broken)) == (False, True, False)
    assert "violated" in broken._repr_html_()
    with pytest.raises(UserError, match="mechanism=3 is not valid"):
        dpbench.audit(3)


GIVEN = """
import dpbench
data = dpbench.Incidence.from_rows([[0, 1], [1, 2], [2]], columns=3)
run = dpbench.run(
    dataset=[data], mechanism=["lpa"], epsilon=[1], trials=2, figure=False, tracking="none", runner={"jobs": 1}
)
print(run.summary()["mae"].tolist())
"""


def test_damage_of_a_cached_object_is_told_and_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the program has the data: the file is written again from them."""
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))

    def call() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", GIVEN], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )

    first = call()
    assert first.returncode == 0, first.stderr
    assert "damaged" not in first.stderr
    (folder,) = (tmp_path / "cache" / "data").glob("incidence-*")
    content = bytearray((folder / "indices.npy").read_bytes())
    content[-8] ^= 1
    (folder / "indices.npy").write_bytes(content)
    second = call()
    assert second.returncode == 0, second.stderr
    assert second.stdout == first.stdout
    assert "cached data is damaged" in second.stderr
    assert "damaged" not in call().stderr


def test_a_notebook_shows_an_error_without_our_frames(tmp_path: Path) -> None:
    """IPython asks the error itself. The user's line is shown, ours are not."""
    with pytest.raises(UserError) as caught:
        dpbench.load(tmp_path / "nowhere", "gs/fig9")
    *lines, message = caught.value._render_traceback_()
    assert message.startswith("dpbench: --results")
    assert len(lines) == 1
    assert lines[0].endswith('dpbench.load(tmp_path / "nowhere", "gs/fig9")')


def test_a_notebook_marks_what_is_not_private(tmp_path: Path) -> None:
    mae(tmp_path, "lpa", "gs", "zero", name="marks")
    text = dpbench.load(tmp_path, "marks")._repr_html_()
    assert "<td>lpa†</td>" in text
    assert "<td>zero</td>" in text
    assert text.count("not private as run") == 1, "one reason, two mechanisms"
    assert "declare <code>bound</code>" in text
