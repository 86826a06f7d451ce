"""A user's own file: a mechanism that works, except in about a fifth of its trials, where it does what BAD says."""

from __future__ import annotations

import ctypes
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np

from dpbench import Counts, Mechanism, Noise

KEPT: list[bytearray] = []


@numba.njit
def spin(n: int) -> float:  # holds the interpreter: no other thread of Python runs
    total = 0.0
    for i in range(n):
        total += 1.0 / (i + total + 1.0)
    return total


def misbehave(how: str) -> None:
    if mark := os.environ.get("BAD_MARK"):
        Path(mark).touch()
    if how == "raise":
        raise RuntimeError(f"no luck at {time.perf_counter_ns()}")
    if how == "python":
        while True:
            pass
    if how == "numpy":
        np.correlate(np.ones(10**6), np.ones(10**6), "full")  # one call of several minutes
    if how == "kernel":
        spin(10**14)
    if how == "ask":
        np.empty(100 * 10**9, dtype=np.uint8)
    if how == "grow":
        kept = []
        while True:
            kept.append(bytearray(10**6))
    if how == "exit":
        os._exit(3)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "compile":
        compile_long()
    if how == "keep":
        KEPT.append(bytearray(5 * 10**8))


def compile_long() -> None:
    """Compile for longer than the limit of the test, however fast the machine is."""
    lines = "\n".join(f"    x = x * {i}.5 + i{i % 7}" for i in range(400))
    text = f"def long(x):\n    i0 = i1 = i2 = i3 = i4 = i5 = i6 = x\n{lines}\n    return x\n"
    began = time.perf_counter()
    while time.perf_counter() - began < 3:
        found: dict[str, Any] = {}
        exec(text, found)
        numba.njit(found["long"])(1.0)


@dataclass(frozen=True, kw_only=True)
class Bad(Mechanism):
    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        spin(10)
        if noise.stream("luck").random() < 0.2:
            misbehave(os.environ.get("BAD", ""))
        return Counts(counts=noise.laplace(data.counts, scale=data.largest_row / epsilon))
