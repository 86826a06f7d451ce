"""`Labels`: the names of items, as two arrays. Millions of names are memory-mapped like all other data.

Imported by the data kinds that name their items; imports errors only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dpbench.errors import UserError


class Labels(Sequence[str]):
    """Names in a fixed order: name i is the UTF-8 text between `ends[i - 1]` and `ends[i]`."""

    def __init__(self, text: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        for array, dtype in ((text, np.uint8), (ends, np.int64)):
            if array.ndim != 1 or array.dtype != dtype:
                raise UserError(f"Labels: expected a list of {np.dtype(dtype)}, found {array.dtype} {array.shape}")
        if (int(ends[-1]) if ends.size else 0) != text.size:
            raise UserError(f"Labels: the last name ends at {ends[-1:]}, expected {text.size}, the length of the text")
        self.text, self.ends = text.view(), ends.view()
        self.text.setflags(write=False)
        self.ends.setflags(write=False)

    @classmethod
    def of(cls, names: Sequence[str]) -> Labels:
        """From a list of names; Labels stay as they are."""
        if isinstance(names, Labels):
            return names
        encoded = [str(name).encode("utf-8", "replace") for name in names]
        ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends.reshape(-1))

    def __len__(self) -> int:
        return int(self.ends.size)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice | NDArray[np.integer]) -> tuple[str, ...]: ...

    def __getitem__(self, place: Any) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        if isinstance(place, list | np.ndarray) and np.ndim(place):  # of a ranking: data.item_labels[release.top]
            return tuple(self[int(i)] for i in place)
        number = int(place) + (len(self) if place < 0 else 0)
        if not 0 <= number < len(self):
            raise IndexError(f"there is no label {place}, only {len(self)}")
        start = int(self.ends[number - 1]) if number else 0
        return self.text[start : int(self.ends[number])].tobytes().decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Labels):
            return np.array_equal(self.ends, other.ends) and np.array_equal(self.text, other.text)
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(name) for name in self[:3])
        return f"Labels({shown}{', ...' if len(self) > 3 else ''}; {len(self):,} names)"
