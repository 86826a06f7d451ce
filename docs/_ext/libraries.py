"""Audits mechanisms of diffprivlib and OpenDP by replay and writes the table of `concepts/audit.md`.

`python docs/_ext/libraries.py` takes about five minutes and writes `concepts/libraries.csv`.
"""

from __future__ import annotations

import csv
import importlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dpbench import Incidence
from dpbench.auditing.judge import EPSILONS, AuditedVariant, Options, findings
from dpbench.auditing.recorded import Recorded
from dpbench.mechanisms.peers.base import load

TABLE = Path(__file__).parents[1] / "concepts" / "libraries.csv"
HEAD = ("library", "mechanism", "states", "method", "loss", "verdict")
ROW = 3
"""Columns that a row may hold."""
DELTA = 1e-6
SECONDS = 60.0
"""Time limit where releases must be tested."""

Released = Callable[[Incidence, float, np.random.Generator], Any]


@dataclass(frozen=True)
class Subject:
    """One mechanism of a library on the counts of columns, as a user would call it."""

    library: str
    place: str
    released: Released
    privacy: str = "ε"
    epsilons: tuple[float, ...] = EPSILONS
    delta: float = DELTA
    bound: int = ROW

    def release(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        return self.released(data, epsilon, rng)


def of_diffprivlib() -> Iterator[Subject]:
    load("diffprivlib")
    of: Any = importlib.import_module("diffprivlib.mechanisms")
    tools: Any = importlib.import_module("diffprivlib.tools.histograms")

    def each(cls: Any, kind: type, **more: Any) -> Released:
        def release(data: Incidence, epsilon: float, rng: np.random.Generator) -> list[Any]:
            machine = cls(epsilon=epsilon, sensitivity=ROW, random_state=int(rng.integers(2**32)), **more)
            return [machine.randomise(kind(count)) for count in data.counts]

        return release

    def gaussian(cls: Any) -> Released:
        return lambda data, epsilon, rng: [
            cls(epsilon=epsilon, delta=DELTA, sensitivity=math.sqrt(ROW)).randomise(float(n)) for n in data.counts
        ]

    def histogram(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        edges = (-0.5, data.columns - 0.5)
        return tools.histogram(data.indices, epsilon=epsilon / ROW, bins=int(data.columns), range=edges)[0]

    def chosen(cls: Any) -> Released:
        return lambda data, epsilon, rng: cls(
            epsilon=epsilon, sensitivity=1, utility=data.counts.tolist(), monotonic=True
        ).randomise()

    def answer(data: Incidence, epsilon: float, rng: np.random.Generator) -> str:
        word = "yes" if data.counts.any() else "no"
        return str(of.Binary(epsilon=epsilon, value0="no", value1="yes").randomise(word))

    bounds = {"lower": 0, "upper": 100}
    for name, kind, more in (
        ("Laplace", float, {}),
        ("LaplaceTruncated", float, bounds),
        ("LaplaceFolded", float, bounds),
        ("Geometric", int, {}),
        ("GeometricTruncated", int, bounds),
        ("GeometricFolded", int, bounds),
    ):
        yield Subject("diffprivlib", f"mechanisms.{name}", each(getattr(of, name), kind, **more))
    yield Subject("diffprivlib", "tools.histogram", histogram)
    yield Subject("diffprivlib", "mechanisms.Gaussian", gaussian(of.Gaussian), "(ε, δ)", (1.0, 0.1))
    yield Subject("diffprivlib", "mechanisms.GaussianAnalytic", gaussian(of.GaussianAnalytic), "(ε, δ)")
    yield Subject("diffprivlib", "mechanisms.Exponential", chosen(of.Exponential))
    yield Subject("diffprivlib", "mechanisms.Binary", answer)
    yield Subject("diffprivlib", "mechanisms.PermuteAndFlip", chosen(of.PermuteAndFlip))
    yield Subject("diffprivlib", "mechanisms.Snapping", each(of.Snapping, float, lower=0, upper=100))


def of_opendp() -> Iterator[Subject]:
    dp: Any = load("opendp")

    def space(number: type, distance: Any) -> Any:
        atoms = dp.atom_domain(T=int) if number is int else dp.atom_domain(T=float, nan=False)
        return dp.vector_domain(atoms), distance(T=number)

    def laplace(number: type) -> Released:
        return lambda data, epsilon, rng: dp.m.make_laplace(*space(number, dp.l1_distance), scale=ROW / epsilon)(
            data.counts.astype(number).tolist()
        )

    def gaussian(number: type) -> Released:
        atoms = space(number, dp.l2_distance)[0]

        def made(scale: float) -> Any:
            measured = dp.m.make_gaussian(atoms, dp.l2_distance(T=float), scale=scale)
            return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(measured), DELTA)

        known: dict[float, Any] = {}

        def release(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
            if epsilon not in known:
                known[epsilon] = dp.binary_search_chain(made, d_in=math.sqrt(ROW), d_out=(epsilon, DELTA), T=float)
            return known[epsilon](data.counts.astype(number).tolist())

        return release

    def histogram(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        records = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
        columns = list(range(data.columns))
        count = dp.t.make_count_by_categories(*records, categories=columns, null_category=False)
        return (count >> dp.m.then_laplace(scale=ROW / epsilon))(data.indices.tolist())

    def alp(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        entries = dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int))
        distance = dp.l01inf_distance(dp.absolute_distance(T=int))
        made = dp.m.make_alp_queryable(entries, distance, scale=epsilon / ROW, total_limit=500, value_limit=50)
        answers = made({column: int(n) for column, n in enumerate(data.counts) if n})
        return [answers(column) for column in range(data.columns)]

    def answer(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        return dp.m.make_randomized_response_bool(prob=1 / (1 + math.exp(-epsilon)))(bool(data.counts.any()))

    def largest(data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        scores = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=True)
        return dp.m.make_noisy_max(*scores, dp.max_divergence(), scale=1 / epsilon)(data.counts.tolist())

    yield Subject("OpenDP", "make_laplace, floats", laplace(float))
    yield Subject("OpenDP", "make_laplace, integers", laplace(int))
    yield Subject("OpenDP", "make_count_by_categories, then_laplace", histogram)
    yield Subject("OpenDP", "make_gaussian, floats", gaussian(float), "(ε, δ)")
    yield Subject("OpenDP", "make_gaussian, integers", gaussian(int), "(ε, δ)")
    yield Subject("OpenDP", "make_alp_queryable", alp)
    yield Subject("OpenDP", "make_randomized_response_bool", answer)
    yield Subject("OpenDP", "make_noisy_max", largest)


def row(subject: Subject) -> tuple[str, ...]:
    recorded = Recorded(subject, ("numpy", "opendp", "diffprivlib"))
    options = Options(subject.epsilons[0], epsilons=subject.epsilons, seconds=SECONDS)
    (found,) = findings([AuditedVariant(subject.place, recorded)], options)
    sign = "at least " if found.method == "sequential test" else "at most " if found.at_most else ""
    loss = f"{sign}{found.loss:.4g} at ε = {found.epsilon:g}"
    said = f"{found.verdict} on {found.pairs} pairs" if found.verdict == "holds" else f"{found.verdict}: {found.reason}"
    library = f"{subject.library} {version(subject.library.lower())}"
    return library, f"`{subject.place}`", found.guarantee, found.method, loss, said


def main() -> None:
    rows = []
    for subject in (*of_diffprivlib(), *of_opendp()):
        rows.append(row(subject))
        print(*rows[-1], sep=" | ", flush=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])


if __name__ == "__main__":
    main()
