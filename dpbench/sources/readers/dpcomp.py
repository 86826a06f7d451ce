"""Reader of the histograms of DPBench (Hay et al. 2016), as dpcomp_core has them: one array of counts over a whole domain."""

from __future__ import annotations

import gzip
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.data import Contingency
from dpbench.errors import UserError
from dpbench.sources.readers import assembly
from dpbench.sources.readers.base import Reader
from dpbench.sources.readers.layout import Field, Layout
from dpbench.sources.readers.parsing import Lines, read_fields

LARGEST = 2**27
"""Most cells of a file: 1 GB of counts."""


@dataclass(frozen=True, kw_only=True)
class Dpcomp(Reader, name="dpcomp"):
    """A histogram of DPBench: a file .npy with an array of counts of one or more dimensions, or a text with one count per line.

    Files are named like HEPTH.n4096.npy and checkin_256_256.npy in dpcomp_core/datafiles, and like HEPTH.n4096 or with .txt as
    text. No line may be left out, as it would move all cells behind it.
    """

    shape: str = ""
    """A smaller domain, like 1024 or 64x64: neighbouring cells are added up, as DPBench does. Each length must divide that of
    the file. Empty: the domain of the file."""

    kinds = ("contingency",)
    what = "a histogram of DPBench"
    names = ("*.npy", "*.n[0-9]*", "*.txt")

    LAYOUT = Layout((Field("count", high=2**62),), ",")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.on_bad_line != "error":
            raise UserError(f"on_bad_line={self.on_bad_line} has no effect: every line of a histogram is one cell")
        if self.shape and not all(part.isdigit() and int(part) for part in str(self.shape).split("x")):
            raise UserError(f"shape={self.shape!r} is not valid: expected whole numbers like 1024 or 64x64")

    def build(self, rng: np.random.Generator) -> Contingency:
        (path,) = self.files()
        counts = _array(path) if Path(path.name.removesuffix(".gz")).suffix == ".npy" else self._lines(path)
        if not counts.size:
            raise UserError(f"{path}: there is not a single count: expected {self.what}")
        if self.shape:
            counts = _coarser(counts, tuple(int(part) for part in str(self.shape).split("x")), path)
        flat = counts.reshape(-1)
        cells = np.flatnonzero(flat)
        return Contingency(cells, flat[cells], flat.size, tuple(int(length) for length in counts.shape))

    def _lines(self, path: Path) -> NDArray[np.int64]:
        column = assembly.Column(np.int64)
        for block in read_fields(Lines(path, "one count per line"), self.LAYOUT, self.bad_lines()):
            column.add(block["count"])
        return np.asarray(column.whole())


def _array(path: Path) -> NDArray[np.int64]:
    """The counts of a .npy file. Objects are never unpickled, and a header may not promise more than fits."""
    try:
        with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as file:
            version = np.lib.format.read_magic(file)  # type: ignore[arg-type]
            header: Any = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = header(file)
            size = math.prod(shape)
            if dtype.kind not in "iuf" or not shape or size > LARGEST:
                raise ValueError(f"it holds {dtype} of the shape {shape}: expected at most {LARGEST} numbers")
            body = file.read(size * dtype.itemsize + 1)
        if len(body) != size * dtype.itemsize:
            raise ValueError(f"{len(body)} bytes follow the header, which promises {size * dtype.itemsize}")
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: is not an array of counts: {error}") from None
    values = np.frombuffer(body, dtype=dtype).reshape(shape, order="F" if fortran else "C")
    wrong = ~((values >= 0) & (values == np.rint(values)) & (values < 2.0**62))
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        shown = at[0] if len(at) == 1 else at
        raise UserError(f"{path}: cell {shown} holds {values[at]}: expected a whole number of 0 or more")
    return np.ascontiguousarray(values).astype(np.int64)


def _coarser(counts: NDArray[np.int64], shape: tuple[int, ...], path: Path) -> NDArray[np.int64]:
    """The sums over blocks of equal size."""
    if len(shape) != counts.ndim or any(length % short for length, short in zip(counts.shape, shape, strict=False)):
        given, held = ("x".join(map(str, lengths)) for lengths in (shape, counts.shape))
        raise UserError(f"{path}: shape={given} does not divide the domain {held} of the file")
    for axis, short in enumerate(shape):
        counts = np.add.reduceat(counts, np.arange(0, counts.shape[axis], counts.shape[axis] // short), axis=axis)
    return counts
