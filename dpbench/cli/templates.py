"""What `new` writes. NAME, CLASS and MODULE stand for the user's own names. Imported by `new` only."""

from __future__ import annotations

MECHANISM = '''"""CLASS: one sentence on what it does."""

from dataclasses import dataclass

from dpbench import Counts, Mechanism


@dataclass(frozen=True, kw_only=True)
class CLASS(Mechanism):
    """Laplace noise on every count, rounded to multiples of `step`."""

    # Fields are parameters: mechanism.NAME.step=5 sets one, mechanism.NAME.step=[1,5,10] compares several.
    step: float = 10.0
    bound: int = 100  # largest number of items of one user, chosen without looking at the data

    kinds = ("incidence",)  # the data it accepts: incidence, records, contingency, catalogue
    privacy = "ε"  # the guarantee it states; `audit` checks it

    def publish(self, data, epsilon, noise):
        # All randomness comes from `noise`. One user changes the counts by at most `bound` in total.
        noisy = noise.laplace(data.counts, scale=self.bound / epsilon)
        # Rounding afterwards costs no privacy. `stages` lists steps other than noise that cause errors, such as sampling.
        return Counts(counts=self.step * (noisy / self.step).round(), stages=())

    def unfit(self, data):
        if reason := super().unfit(data):
            return reason
        return f"bound={self.bound} is below the largest row" if data.largest_row > self.bound else ""
'''

MECHANISM_TEST = '''"""Tests of CLASS: python -m pytest test_MODULE.py"""

import dpbench
import numpy as np
from MODULE import CLASS

DATA = dpbench.Incidence.from_rows([[0, 2], [1, 2, 3], [2]], columns=4)


def test_counts_are_multiples_of_the_step():
    release = CLASS(step=5, bound=3).release(DATA, epsilon=1.0, rng=np.random.default_rng(7))
    assert release.counts.shape == (4,)
    assert np.allclose(release.counts % 5, 0)


def test_it_is_as_private_as_it_states():
    assert dpbench.audit(CLASS(bound=3), pairs=20)["verdict"].tolist() == ["holds"]
'''

MECHANISM_YAML = """# python -m dpbench run experiment=gs/fig9 scale=smoke 'mechanism=[lpa,gs,NAME]'
NAME:
  class: MODULE.CLASS
  bound: declared   # the bound that each dataset declares; a number instead applies to all datasets
"""

DATASET = '''"""CLASS: made-up data. Your own file needs no code: see `data show table`."""

from dataclasses import dataclass

import numpy as np
from dpbench import Incidence, Source


@dataclass(frozen=True, kw_only=True)
class CLASS(Source):
    """Users who visit places; a few places are popular."""

    # Fields are parameters: `sizes` in conf/dataset/NAME.yaml sets them for each scale.
    users: int = 1000
    places: int = 100

    kinds = ("incidence",)

    def build(self, rng):
        # All randomness comes from `rng`, which is seeded by data_seed: the same seed makes the same data.
        users = np.repeat(np.arange(self.users), rng.integers(1, 11, self.users))
        places = np.minimum(rng.pareto(1.0, users.size) * 3, self.places - 1).astype(int)
        return Incidence.from_pairs(users, places)
'''

DATASET_TEST = '''"""Tests of CLASS: python -m pytest test_MODULE.py"""

import numpy as np
from MODULE import CLASS


def test_the_same_seed_makes_the_same_data():
    first, second = (CLASS(users=50).build(np.random.default_rng(3)) for _ in range(2))
    first.validate()
    assert first.rows == 50
    assert first.counts.tolist() == second.counts.tolist()
'''

DATASET_YAML = """# python -m dpbench run 'dataset=[NAME]' 'mechanism=[lpa,gs]' scale=smoke
NAME:
  kind: incidence
  source: generator
  generator: MODULE.CLASS
  bound: 10   # largest number of places of one user, chosen without looking at the data
  sizes:
    smoke: {users: 300, places: 50}
    laptop: {users: 20000, places: 1000}
    paper: {users: 1000000, places: 10000}
# A table of your own instead, as CSV, TSV or Parquet:
# NAME: {source: files, files: table, path: visits.csv, user: who, item: place, bound: 10}
"""

TASK = '''"""CLASS: one sentence on what it measures."""

from dataclasses import dataclass

import numpy as np
from dpbench import Task
from dpbench.tasks import Metric


@dataclass(frozen=True, kw_only=True)
class CLASS(Task):
    """The error of the counts of the most frequent columns."""

    # Fields are parameters: task.NAME.k=20 sets one.
    k: int = 10

    kinds = ("incidence",)
    metrics = (
        Metric("top_error", "mean absolute error of the k most frequent columns", "lower"),
        Metric("worst", "largest absolute error of all columns", "lower"),
    )

    def score(self, data, release, rng):
        error = np.abs(release.counts - data.counts)
        top = np.argsort(-data.counts, kind="stable")[: self.k]
        return {"top_error": float(error[top].mean()), "worst": float(error.max())}
'''

TASK_TEST = '''"""Tests of CLASS: python -m pytest test_MODULE.py"""

import dpbench
import numpy as np
from MODULE import CLASS

DATA = dpbench.Incidence.from_rows([[0, 2], [1, 2, 3], [2]], columns=4)


def test_exact_counts_have_no_error():
    release = dpbench.Counts(counts=DATA.counts)
    assert CLASS(k=2).score(DATA, release, np.random.default_rng(0)) == {"top_error": 0, "worst": 0}


def test_errors_are_of_the_most_frequent_columns():
    release = dpbench.Counts(counts=DATA.counts + np.array([5, 0, 1, 0]))
    assert CLASS(k=1).score(DATA, release, np.random.default_rng(0)) == {"top_error": 1, "worst": 5}
'''

TASK_YAML = """# python -m dpbench run 'dataset=[trajectory]' 'mechanism=[lpa,gs]' 'task=[NAME]' scale=smoke
NAME:
  class: MODULE.CLASS
"""

EXPERIMENT_YAML = """# @package _global_
# python -m dpbench run experiment=NAME scale=smoke
defaults:
  - override /dataset: [trajectory]
  - override /mechanism: [lpa, gs]
  - override /task: [column_counts]

title: "What it shows, in one sentence"
epsilon: [0.1, ln2, ln3]
metrics: [mae, mre]
paper_trials: 100
# A parameter given as a list is an axis of the figure:
# mechanism: {gs: {w: [10, 100]}}
"""

EXPERIMENT_TEST = '''"""Tests of the experiment NAME: python -m pytest test_MODULE.py"""

import dpbench


def test_more_budget_means_less_error(tmp_path):
    run = dpbench.run("NAME", scale="smoke", trials=4, results=tmp_path)
    lpa = run.summary().query("mechanism == 'lpa'").sort_values("epsilon")
    assert lpa["mae"].is_monotonic_decreasing
'''

FILES = {
    "mechanism": {
        "{module}.py": MECHANISM,
        "{conf}/mechanism/{name}.yaml": MECHANISM_YAML,
        "test_{module}.py": MECHANISM_TEST,
    },
    "dataset": {"{module}.py": DATASET, "{conf}/dataset/{name}.yaml": DATASET_YAML, "test_{module}.py": DATASET_TEST},
    "task": {"{module}.py": TASK, "{conf}/task/{name}.yaml": TASK_YAML, "test_{module}.py": TASK_TEST},
    "experiment": {"{conf}/experiment/{name}.yaml": EXPERIMENT_YAML, "test_{module}.py": EXPERIMENT_TEST},
}
"""The files of each kind, by path."""

NEXT = {
    "mechanism": (
        "python -m dpbench run 'dataset=[trajectory]' 'mechanism=[lpa,{name}]' scale=smoke",
        "python -m dpbench audit {name}",
        "python -m pytest test_{module}.py",
    ),
    "dataset": (
        "python -m dpbench run 'dataset=[{name}]' 'mechanism=[lpa,gs]' scale=smoke",
        "python -m pytest test_{module}.py",
    ),
    "task": (
        "python -m dpbench run 'dataset=[trajectory]' 'mechanism=[lpa,gs]' 'task=[{name}]' scale=smoke",
        "python -m pytest test_{module}.py",
    ),
    "experiment": (
        "python -m dpbench run experiment={name} scale=smoke",
        "python -m dpbench check {name} --update",
        "python -m pytest test_{module}.py",
    ),
}
"""What to do next."""
