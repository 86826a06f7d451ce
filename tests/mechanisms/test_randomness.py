"""All randomness of mechanisms comes from `noise`: by reading their code, by a neighbour with one more row, and by name.

What is read: no mechanism makes a generator, and only kernels, which are handed the generator of a stream or of a law,
draw from one. What is run: what costs no budget makes the same choices for all rows but the one that is new.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dpbench
from dpbench import Counts, Mechanism, Noise, Records
from dpbench.errors import UserError
from dpbench.mechanisms.analytics._samples import greedy_sample, random_sample
from dpbench.mechanisms.base import ColumnMechanism
from dpbench.mechanisms.gs._sampling import sample_columns
from dpbench.mechanisms.sensitivity._limits import sampled_counts

FOLDER = Path(dpbench.__file__).parent / "mechanisms"
DRAWS = {name for name in dir(np.random.Generator) if not name.startswith("_")} - {"bit_generator", "spawn"}
MAKERS = {"default_rng", "Generator", "RandomState", "PCG64", "SeedSequence", "random", "secrets", "seed", "urandom"}
KERNELS = "_"
"""Modules whose name begins so hold kernels and laws."""


def faults(code: str, kernel: bool) -> list[str]:
    """Where code makes a generator, takes the random module, or draws from anything but a generator that it was handed.

    In a mechanism itself that may only be `noise`, `noise.stream(...)` or a name bound to such a stream.
    """
    found = []
    tree = ast.parse(code)
    streams = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_stream(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    annotations = {id(part) for node in ast.walk(tree) for part in _annotations(node)}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            found += [f"{line}: imports {name}" for name in names if set(name.split(".")) & (MAKERS - {"Generator"})]
        if isinstance(node, ast.Attribute) and id(node) not in annotations and ast.unparse(node) == "np.random":
            found.append(f"{line}: np.random")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWS:
            source, text = node.func.value, ast.unparse(node.func.value)
            handed = isinstance(source, ast.Name) and source.id == "rng" and kernel
            if not (handed or text == "noise" or _is_stream(source) or text in streams or text in NOT_RANDOM):
                found.append(f"{line}: {ast.unparse(node.func)}")
    return found


NOT_RANDOM = {"samples", "zeros"}
"""Modules of ours with functions of such names."""


def _is_stream(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "noise.stream"


def _annotations(node: ast.AST) -> list[ast.AST]:
    given = [getattr(node, name, None) for name in ("annotation", "returns")]
    return [part for root in given if isinstance(root, ast.AST) for part in ast.walk(root)]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("**/*.py")), ids=lambda p: str(p.relative_to(FOLDER)))
def test_mechanisms_draw_from_noise_alone(path: Path) -> None:
    assert faults(path.read_text(), kernel=path.name.startswith(KERNELS)) == []


@pytest.mark.parametrize(
    ("code", "kernel"),
    [
        ("import numpy as np\ndef f(): return np.random.default_rng(3).random()", False),
        ("import numpy as np\ndef f(): return np.random.laplace()", True),
        ("from numpy.random import default_rng", False),
        ("import random", True),
        ("import secrets", False),
        ("def f(rng): return rng.laplace(0, 1)", False),
        ("def f(self): return self.generator.normal()", True),
        ("def f(noise): return noise.stream('x').laplace(0, 1) + other.random()", False),
    ],
)
def test_the_reader_finds_planted_faults(code: str, kernel: bool) -> None:
    assert faults(code, kernel)


def test_the_reader_passes_what_is_right() -> None:
    code = "def f(noise):\n    ties = noise.stream('ties')\n    return noise.laplace([1], scale=2) + ties.random(3)"
    assert faults(code, kernel=False) == []
    assert faults("import numpy as np\ndef f(rng: np.random.Generator): return rng.random()", kernel=True) == []


# One more row at the end.


def rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    sizes = rng.integers(0, 12, rng.integers(1, 40))
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return indptr, rng.integers(0, 20, indptr[-1]).astype(np.int32)


def without_last(indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return indptr[:-1], indices[: indptr[-2]]


SAMPLERS = {
    "columns": lambda p, i, rng: sample_columns(p, i, rng),
    "random": lambda p, i, rng: random_sample(p, 3, rng),
    "greedy": lambda p, i, rng: greedy_sample(p, i, np.arange(20.0) // 7, 3, rng),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samples_of_all_other_rows_stay_the_same(name: str) -> None:
    draw = SAMPLERS[name]
    for seed in range(200):
        after = rows(np.random.default_rng(seed))
        with_row, without = (
            draw(*data, Noise(np.random.default_rng(seed)).stream("sample")) for data in (after, without_last(*after))
        )
        assert with_row[: without.size].tolist() == without.tolist()
        assert with_row.size - without.size <= 3


def test_limited_rows_of_all_others_stay_the_same() -> None:
    for seed in range(200):
        after = rows(np.random.default_rng(seed))
        limited = [
            sampled_counts(p, i, np.bincount(i, minlength=20), 2, Noise(np.random.default_rng(seed)).stream("limit"))
            for p, i in (after, without_last(*after))
        ]
        moved = limited[0] - limited[1]
        assert moved.min() >= 0
        assert moved.sum() <= 2


# The old form.


def test_a_class_that_takes_rng_is_told_the_new_form() -> None:
    with pytest.raises(UserError, match=r"Old.publish takes rng: expected `def publish\(self, data, epsilon, noise\)`"):

        class Old(Mechanism):
            def publish(self, data, epsilon, rng):
                return None

    with pytest.raises(UserError, match=r"def publish_columns\(self, columns, epsilon, noise\)"):

        class Other(ColumnMechanism):
            def publish_columns(self, columns, epsilon, rng):
                return None


@dataclass(frozen=True, kw_only=True)
class Halved(ColumnMechanism):
    """Publishes the counts as they are, and which budget they had."""

    kinds = ("incidence", "records")

    def publish_columns(self, columns, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=columns.counts, chosen={"budget": epsilon}, diagnostics={"ones": columns.ones})


def test_a_column_mechanism_publishes_records_with_half_the_budget_each() -> None:
    data = Records.from_rows([[(0, 1), (2, 0)], [(1, 1)]], items=3, contexts=2)
    release = Halved().release(data, 1.0, np.random.default_rng(0))
    assert release.counts.tolist() == data.counts.tolist()
    assert release.edges.tolist() == data.edges.tolist()
    assert release.chosen == {"budget": 0.5, "edge_budget": 0.5}
    assert release.diagnostics == {"ones": 3, "edge_ones": 3}
    once = Halved().release(data.incidence(), 1.0, np.random.default_rng(0))
    assert once.edges is None
    assert once.chosen == {"budget": 1.0}
