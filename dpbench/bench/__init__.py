"""The speed floors: each compares a measurement with a reference in the same run. Imported by the `bench` verb only."""

from collections.abc import Callable, Iterator

from dpbench.bench import counts, growth, harness, noise, records, sparse
from dpbench.bench.base import FloorRow

BENCHES: dict[str, Callable[[], Iterator[FloorRow]]] = {
    "gs": counts.gs,
    "column_sampling": counts.column_sampling,
    "hpa": records.hpa,
    "sparse": sparse.sparse,
    "exact_noise": noise.exact_laplace,
    "harness": harness.harness,
    "startup": harness.startup,
    "growth": growth.growth,
}

__all__ = ["BENCHES", "FloorRow"]
