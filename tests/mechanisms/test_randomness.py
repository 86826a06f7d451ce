"""All randomness of mechanisms comes from `noise`: by reading their code, by watching them, and by one more row.

What is read: no mechanism makes a generator, or takes one from anywhere; only kernels, which are handed the generator of a
stream or of a law, draw from one; a stream has only the uses that are listed here, with the reason why they cost no budget.
What is watched: during a release nobody but `Noise` makes a generator, and the global ones stay as they are.
What is run: what costs no budget makes the same choices for all rows but the one that is new.
"""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dpbench
from dpbench import Counts, Mechanism, Noise, Records
from dpbench.errors import UserError
from dpbench.mechanisms.analytics._samples import greedy_sample, random_sample
from dpbench.mechanisms.base import MECHANISMS, ColumnMechanism
from dpbench.mechanisms.gs._sampling import sample_columns
from dpbench.mechanisms.sensitivity._limits import sampled_counts

from support.examples import CONSTANT, VARIANTS, example_of

PACKAGE = Path(dpbench.__file__).parent
FOLDER = PACKAGE / "mechanisms"
DRAWS = {name for name in dir(np.random.Generator) if not name.startswith("_")} - {"bit_generator", "spawn"}
CHOICES = {"random", "integers", "permutation", "permuted", "shuffle", "choice"}
"""What a stream may be asked for in a mechanism itself. Noise of any other shape is a step of its own."""
IMPORTS = {
    "__future__",
    "bisect",
    "collections",
    "clarabel",
    "dataclasses",
    "dpbench",
    "functools",
    "inspect",
    "itertools",
}
IMPORTS |= {"math", "numbers", "numpy", "scipy", "sys", "typing", "warnings"}
NOT_IMPORTED = {"random", "stats", "keyed", "streams", "sources"}
"""Parts of a module's name, or names taken from one, that give random numbers."""
NOISE = {f"dpbench.privacy.{name}" for name in ("Budget", "INEXACT", "Law", "Noise")}
NOISE |= {  # arithmetic of budgets, which draws nothing
    f"dpbench.privacy.exchange.{name}"
    for name in ("epsilon_of_rho", "gaussian_rho", "parse_epsilon", "parse_rho", "pure_rho")
}
"""What a mechanism takes from the package of the random steps."""
CALLS = {"hash", "id", "eval", "exec", "__import__"}
"""What differs from process to process, or hides what is called."""
KERNELS = "_"
"""Modules whose name begins so hold kernels and laws."""

STREAMS = {
    ("analytics/sampling.py", "sample", "samples.random_sample"): "which records of a user",
    ("analytics/sampling.py", "popularity", "samples.random_sample"): "which records of a user",
    ("analytics/sampling.py", "ties", "samples.greedy_sample"): "which of a user's records of one score",
    ("epicrec/personal.py", "user", "integers"): "who publishes, which the receiver knows",
    ("epicrec/personal.py", "rounding", "classes.round"): "items for aggregates that are noisy already",
    ("epicrec/personal.py", "rounding", "classes.round_evenly"): "items for aggregates that are noisy already",
    ("gs/study.py", "printed", "tuning_curve"): "the noise of a simulation, made from a noisy sample",
    ("gs/study.py", "mean row", "tuning_curve"): "the noise of a simulation, told in a study only",
    ("gs/study.py", "real", "_sizes.real_curve"): "the noise of a simulation, told in a study only",
    ("gs/grouping.py", "order", "permutation"): "groups that look at nothing",
    ("gs/grouping.py", "equal", "permutation"): "the order of equal noisy numbers",
    ("gs/grouping.py", "tuning", "self._tune"): "errors foretold from the noisy sample",
    ("gs/grouping.py", "columns", "sample_columns"): "which column of a row",
    ("histograms/alp.py", "hashes", "integers"): "public hash functions",
    ("histograms/sketch.py", "hashes", "integers"): "public hash functions",
    ("sensitivity/_control.py", "limit", "sampled_counts"): "which ones of a row",
    ("sparse/samples.py", "priorities", "priorities"): "a sample of numbers that are noisy already",
    ("sparse/samples.py", "refining", "random"): "a sample of numbers that are noisy already",
    ("sparse/samples.py", "sampling", "random"): "a sample of numbers that are noisy already",
    ("sparse/samples.py", "filling", "free"): "which of the noisy zeros are listed",
    ("sparse/sketch.py", "hashes", "integers"): "public hash functions",
}
"""Every use of a stream: the module, the stream, who draws from it, and why that costs no budget."""


def faults(code: str, kernel: bool) -> list[str]:
    """Where code makes a generator, takes one from anywhere, or draws from anything but a generator that it was handed.

    In a mechanism itself that may only be `noise`, `noise.stream(...)` or a name bound to such a stream, and of a stream choices
    only.
    """
    found = []
    tree = ast.parse(code)
    streams = {name for node in ast.walk(tree) for name in _stream_names(node)}
    annotations = {id(part) for node in ast.walk(tree) for part in _annotations(node)}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += [f"{line}: imports {name}" for name in _imported(node)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            found.append(f"{line}: {node.func.id}")
        if not isinstance(node, ast.Attribute) or id(node) in annotations:
            continue
        source, text = node.value, ast.unparse(node.value)
        if text in ("np", "numpy") and node.attr == "random":
            found.append(f"{line}: np.random")
        if text == "noise" and node.attr.startswith("_"):
            found.append(f"{line}: inside of noise")
        stream = _is_stream(source) or text in streams
        if node.attr in DRAWS or node.attr in ("rvs", "urandom", "bit_generator", "spawn"):
            handed = kernel and isinstance(source, ast.Name) and source.id == "rng"
            chosen = stream and node.attr in CHOICES
            if not (handed or chosen or text == "noise" or text in NOT_RANDOM):
                found.append(f"{line}: {ast.unparse(node)}")
    return found


NOT_RANDOM = {"samples", "zeros", "self", "cls", "np.linalg"}
"""Modules and objects of ours with functions of such names. `np` is not among them."""


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    module = getattr(node, "module", None)
    for alias in node.names:
        name = f"{module}.{alias.name}" if module else alias.name
        parts = name.split(".")
        renamed = name == "numpy" and alias.asname != "np"
        # The steps themselves would draw from any generator.
        inside = parts[:2] == ["dpbench", "privacy"] and name not in NOISE
        if parts[0] not in IMPORTS or set(parts) & NOT_IMPORTED or renamed or inside:
            yield name


def _is_stream(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "noise.stream"


def _stream_names(node: ast.AST) -> list[str]:
    """The names that a stream is bound to."""
    if not (isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign) and node.value and _is_stream(node.value)):
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id if isinstance(target, ast.Name) else ast.unparse(target) for target in targets]


def _annotations(node: ast.AST) -> list[ast.AST]:
    given = [getattr(node, name, None) for name in ("annotation", "returns")]
    return [part for root in given if isinstance(root, ast.AST) for part in ast.walk(root)]


def uses(code: str) -> set[tuple[str, str]]:
    """Every stream of a module and who draws from it: a method of it, or the function that it is handed to."""
    tree = ast.parse(code)
    above = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    bound: dict[str, str] = {}
    found = set()
    for node in ast.walk(tree):
        if _is_stream(node):
            stream = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ast.unparse(node)
            for name in _stream_names(above[id(node)]):
                bound[name] = stream
            if not _stream_names(above[id(node)]):
                found.add((stream, _user(node, above)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in bound and isinstance(node.ctx, ast.Load):
            found.add((bound[node.id], _user(node, above)))
    return found


def _user(node: ast.AST, above: dict[int, ast.AST]) -> str:
    over = above[id(node)]
    if isinstance(over, ast.keyword):
        over = above[id(over)]
    if isinstance(over, ast.Attribute):
        return over.attr
    return ast.unparse(over.func) if isinstance(over, ast.Call) else f"{type(over).__name__}: {ast.unparse(over)}"


OTHERS = ("hashing.py", "keyed.py", "compiled.py", "welch.py")
"""Modules that make generators of public hash functions, or of seeds and words, which no mechanism may import; that draw
nothing; that no mechanism uses."""

READ = [
    # Adapters of other libraries draw from these, and are audited by their releases.
    *((path, path.name.startswith(KERNELS)) for path in sorted(FOLDER.glob("**/*.py")) if path.parent.name != "peers"),
    # What mechanisms call: there only what is handed in is drawn from.
    *((path, True) for path in sorted((PACKAGE / "numerics").glob("*.py")) if path.name not in OTHERS),
]


@pytest.mark.parametrize(
    ("path", "kernel"), READ, ids=lambda p: str(p.relative_to(PACKAGE)) if isinstance(p, Path) else ""
)
def test_mechanisms_draw_from_noise_alone(path: Path, kernel: bool) -> None:
    assert faults(path.read_text(), kernel) == []


def test_streams_have_the_uses_that_are_listed_and_no_others() -> None:
    found = {
        (str(path.relative_to(FOLDER)), *use)
        for path in sorted(FOLDER.glob("**/*.py"))
        for use in uses(path.read_text())
    }
    assert found == set(STREAMS)


@pytest.mark.parametrize(
    ("code", "kernel"),
    [
        ("import numpy as np\ndef f(): return np.random.default_rng(3).random()", False),
        ("import numpy as np\ndef f(): return np.random.laplace()", True),
        ("import numpy\ndef f(): return numpy.random.laplace()", True),
        ("from numpy.random import default_rng", False),
        ("from numpy import random", False),
        ("import random", True),
        ("import secrets", False),
        ("import os\ndef f(): return os.urandom(8)", True),
        ("import time", False),
        ("import uuid", True),
        ("from scipy import stats\ndef f(): return stats.laplace.rvs()", True),
        ("from dpbench.numerics import keyed", False),
        ("from dpbench.numerics.keyed import stream", False),
        ("from dpbench.privacy._words import System", False),
        ("from dpbench.privacy.laplace import LaplaceStep", True),
        ("import dpbench.privacy", False),
        ("def f(x): return hash(x) % 7", True),
        ("def f(rng): return rng.laplace(0, 1)", False),
        ("def f(self): return self.generator.normal()", True),
        ("def f(rng):\n    other = rng\n    return other.laplace(0, 1)", True),
        ("def f(noise): return noise._generator('laplace').laplace(0, 1)", False),
        ("def f(noise): return noise.stream('x').random(3) + other.random()", False),
        ("def f(noise): return noise.stream('x').laplace(0, 1)", False),
        ("def f(noise):\n    ties = noise.stream('x')\n    return ties.normal(3)", False),
        ("def f(noise):\n    draw = noise.stream('x').laplace\n    return draw(3)", False),
        ("def f(noise):\n    if (s := noise.stream('x')):\n        return s.gumbel(3)", False),
    ],
)
def test_the_reader_finds_planted_faults(code: str, kernel: bool) -> None:
    assert faults(code, kernel)


def test_the_reader_passes_what_is_right() -> None:
    code = "def f(noise):\n    ties = noise.stream('ties')\n    return noise.laplace([1], scale=2) + ties.random(3)"
    assert faults(code, kernel=False) == []
    assert faults("import numpy as np\ndef f(rng: np.random.Generator): return rng.random()", kernel=True) == []


def test_the_reader_sees_who_draws_from_a_stream() -> None:
    code = (
        "def f(noise):\n    s = noise.stream('a')\n    g(s)\n    h(x, rng=noise.stream('b'))\n    return s.random(), s"
    )
    kept = {("a", "g"), ("b", "h"), ("a", "random"), ("a", "Tuple: (s.random(), s)")}
    assert uses(code) == kept


# During a release.

CASES = [(name, kind, p) for name, cls in MECHANISMS.items() for kind in cls.kinds for p in VARIANTS.get(name, [{}])]
MAKERS = ("default_rng", "PCG64", "SeedSequence", "RandomState", "MT19937", "Philox")


def global_states() -> tuple[object, bytes]:
    return random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002


@pytest.mark.parametrize(("name", "kind", "parameters"), CASES, ids=lambda value: str(value) if value else "")
def test_only_noise_makes_generators_during_a_release(name: str, kind: str, parameters, monkeypatch) -> None:
    data, made = example_of(name, kind).data(), []
    mechanism, rng = dpbench.mechanism(name, **parameters), np.random.default_rng(1)
    mechanism.release(data, 1.0, rng)  # what is computed once per dataset

    def watched(maker):
        def make(*args, **kwargs):
            made.append(Path(sys._getframe(1).f_code.co_filename).relative_to(PACKAGE).as_posix())
            return maker(*args, **kwargs)

        return make

    for maker in MAKERS:
        monkeypatch.setattr(np.random, maker, watched(getattr(np.random, maker)))
    before = global_states()
    mechanism.release(data, 1.0, rng)
    assert made or name in CONSTANT
    assert set(made) <= {"privacy/noise.py", "numerics/hashing.py"}
    assert global_states() == before


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
