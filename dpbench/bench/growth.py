"""How time and memory grow with the size of the data: one curve per family and axis, with its exponent and a floor on it.

Imported by the `bench` verb only, which stores the numbers for the figure in the documentation.
"""

from __future__ import annotations

import csv
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.bench.base import FloorRow
from dpbench.bench.harness import run_costs
from dpbench.data import Catalogue, Contingency, Data, Incidence, Records
from dpbench.mechanisms import mechanism

SLOWEST = 3.0
"""Seconds of one release from which on no larger size is tried."""
NOTICEABLE = 2e-3
"""Seconds below which the fixed cost of a call hides the growth."""
LINEAR, CONSTANT = 1.6, 0.25
"""Highest exponents allowed: above linear for a sort and for caches that become too small; a quadratic step gives 2."""

DRAWN = 8
"""Sizes beyond 10^DRAWN only name a domain, of which few cells are stored."""


@dataclass(frozen=True)
class GrowthPoint:
    """What one release takes at one size."""

    family: str
    mechanism: str
    axis: str
    size: int
    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Growth:
    """One curve: a mechanism on data that grow along one axis."""

    family: str
    mechanism: str
    axis: str
    data: Callable[[int], Data]
    powers: tuple[int, int]
    """The sizes are 10^first to 10^last."""
    most: float = LINEAR
    parameters: tuple[tuple[str, Any], ...] = ()

    @property
    def sizes(self) -> list[int]:
        return [10**power for power in range(self.powers[0], self.powers[1] + 1)]


def visits(rows: int, columns: int, each: int = 5) -> Incidence:
    rng = np.random.default_rng(0)
    # Distinct columns of a row: a random first one, and the next ones around the circle.
    first, step = rng.integers(0, columns, rows), max(1, columns // 7)
    width = min(each, columns)
    places = np.sort((first[:, None] + step * np.arange(width)) % columns, axis=1)
    return Incidence(np.arange(0, rows * width + 1, width), places.ravel().astype(np.int32), columns)


def records(total: int, items: int = 10_000) -> Records:
    rng = np.random.default_rng(0)
    chosen = (items * rng.random(total) ** 3).astype(np.int32)
    contexts = rng.integers(0, 7, total, dtype=np.uint8)
    return Records(np.arange(0, total + 1, 50), chosen, contexts, items, 7, False)


def table(size: int, nonzeros: int) -> Contingency:
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, size, nonzeros))
    return Contingency(cells, rng.integers(1, 200, cells.size), size)


def catalogue(items: int) -> Catalogue:
    rng = np.random.default_rng(0)
    history = np.sort(rng.choice(items, items // 10, replace=False)).astype(np.int32)
    of_items = rng.integers(0, 20, items).astype(np.int32)
    return Catalogue(np.arange(items + 1), of_items, 20, np.array([0, history.size]), history)


GROWTH = (
    Growth("baselines", "lpa", "columns", lambda d: visits(1000, d), (3, 8)),
    Growth("baselines", "lpa", "rows", lambda n: visits(n, 1000), (3, 7), CONSTANT),
    Growth("baselines", "fpa", "columns", lambda d: visits(1000, d), (3, 7)),
    Growth("gs", "gs", "columns", lambda d: visits(1000, d), (3, 7)),
    Growth("gs", "gs", "rows", lambda n: visits(n, 1000), (3, 7)),
    Growth("sensitivity", "dpsense", "columns", lambda d: visits(1000, d), (3, 7)),
    Growth("sensitivity", "dpsense", "rows", lambda n: visits(n, 1000), (3, 7)),
    Growth("analytics", "sra", "records", records, (3, 8)),
    Growth("analytics", "hpa", "records", records, (3, 8)),
    Growth("sparse", "geometric", "domain", lambda m: table(m, 1000), (3, 8)),
    Growth("sparse", "priority", "domain", lambda m: table(m, 100_000), (6, 12), CONSTANT),
    Growth("sparse", "priority", "non-zero cells", lambda n: table(10**12, n), (3, 7)),
    Growth("sparse", "filter", "non-zero cells", lambda n: table(10**12, n), (3, 7)),
    Growth("histograms", "hb", "domain", lambda m: table(m, 1000), (3, 7)),
    Growth("histograms", "stability_laplace", "domain", lambda m: table(m, 100_000), (6, 12), CONSTANT),
    Growth("histograms", "stability_laplace", "non-zero cells", lambda n: table(10**12, n), (3, 7)),
    Growth("epicrec", "laplace_categories", "items", catalogue, (3, 7)),
)


TRIALS = Growth("harness", "run", "trials", lambda n: visits(n, 1), (2, 5))
"""Trivial trials through the command line, start-up included."""


def measure(growth: Growth, largest: int) -> Iterator[GrowthPoint]:
    """The points of one curve, up to a size or to a slow release. Memory is what a release allocates beyond its data."""
    method = mechanism(growth.mechanism, **dict(growth.parameters))
    for size in growth.sizes:
        if size > largest and growth.powers[1] <= DRAWN:
            return
        data = growth.data(size)
        method.release(data, epsilon=0.5, rng=0)
        best = np.inf
        for _ in range(3):
            began = time.process_time()
            method.release(data, epsilon=0.5, rng=0)
            best = min(best, time.process_time() - began)
        tracemalloc.start()
        method.release(data, epsilon=0.5, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        yield GrowthPoint(growth.family, growth.mechanism, growth.axis, size, float(best), peak / 1e6)
        if best > SLOWEST:
            return


def exponent(points: list[GrowthPoint]) -> float | None:
    """The slope of log time against log size, over the largest sizes; None if not even the last takes a noticeable time."""
    if points[-1].seconds < NOTICEABLE:
        return None
    # With a fixed cost a and a cost b size^k, the largest sizes show k; the smaller ones would only pull it down.
    noticeable = [point for point in points if point.seconds > NOTICEABLE][-3:]
    fitted = noticeable if len(noticeable) > 1 else points[-2:]
    sizes, seconds = np.array([(point.size, point.seconds) for point in fitted]).T
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def curves(largest: int = 10**6) -> Iterator[tuple[Growth, list[GrowthPoint]]]:
    """Every curve, and that of the trials of a run."""
    for growth in GROWTH:
        yield growth, list(measure(growth, largest))
    with tempfile.TemporaryDirectory() as folder:
        run_costs(2, folder)  # compiles what the others find
        costs = {trials: run_costs(trials, folder) for trials in TRIALS.sizes}
    yield TRIALS, [GrowthPoint(TRIALS.family, TRIALS.mechanism, TRIALS.axis, n, *both) for n, both in costs.items()]


def floor_row(growth: Growth, points: list[GrowthPoint]) -> FloorRow:
    """The exponent of one curve against the highest one allowed."""
    what = f"growth of {growth.mechanism} with {growth.axis}, up to {points[-1].size:.0e}"
    slope, floor = exponent(points), f"exponent at most {growth.most:g}"
    if slope is None:
        return FloorRow(what, f"{1e3 * points[-1].seconds:.2f} ms: too fast to see", floor, True)
    return FloorRow(what, f"{slope:.2f} ({points[-1].seconds:.2g} s)", floor, slope <= growth.most)


def growth() -> Iterator[FloorRow]:
    """Every curve up to a million."""
    for each, points in curves():
        yield floor_row(each, points)


def write(path: Path, points: list[GrowthPoint]) -> None:
    """Store the points as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(GrowthPoint)], lineterminator="\n")
        writer.writeheader()
        for point in points:
            row = asdict(point)
            writer.writerow(row | {"seconds": f"{point.seconds:.3g}", "megabytes": f"{point.megabytes:.3g}"})


def read(path: Path) -> list[GrowthPoint]:
    """The points of a file that `write` made."""
    with path.open(newline="") as file:
        return [
            GrowthPoint(
                row["family"],
                row["mechanism"],
                row["axis"],
                int(row["size"]),
                float(row["seconds"]),
                float(row["megabytes"]),
            )
            for row in csv.DictReader(file)
        ]
