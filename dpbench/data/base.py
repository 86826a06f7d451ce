"""What all data kinds share: frozen, read-only arrays, the name of the kind, and a memo for derived values.

Imported by mechanisms, tasks, sources and the cache. Imports errors and numerics.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpbench.data.labels import Labels
from dpbench.errors import UserError

T = TypeVar("T")


class FactStore(Protocol):
    """Where facts about one dataset are stored, so that all processes that open it share them."""

    def get(self, key: Any, owner: type, compute: Callable[[], float]) -> float:
        """The fact named by `key`: read if it is stored, otherwise computed by the code of `owner` and stored."""


KINDS: dict[str, type[Data]] = {}


def read_only(array: Any, dtype: Any = None) -> NDArray[Any]:
    """A read-only view. The caller's own array stays writable."""
    if dtype is not None and np.iscomplexobj(array):  # numpy would drop the imaginary parts with a warning
        raise TypeError("expected real numbers, not complex ones")
    view = np.asarray(array, dtype=dtype).view()
    view.setflags(write=False)
    return view


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """A dataset of one kind. Array fields are read-only and may be memory maps shared by all workers.

    A subclass names its `kind`. It lists in `derived` the cached array properties that the cache stores beside the
    fields, so that workers share them too instead of computing them again.
    """

    kind: ClassVar[str]
    derived: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, kind: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind is not None:
            cls.kind = kind
            KINDS[kind] = cls

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, field.name, read_only(value))

    def memo(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The result of `compute()`, computed once for this object. For facts derived from the data, never for noise."""
        table = self.__dict__.setdefault("_memo", {})
        if key not in table:
            # Threads of one worker share the data. The second thread waits, instead of repeating the work and doubling
            # the memory. The lock is reentrant, because one computation may ask for other facts.
            with self.__dict__.setdefault("_memo_lock", threading.RLock()):
                if key not in table:
                    table[key] = compute()
        return table[key]

    def fact(self, key: Hashable, owner: type, compute: Callable[[], float]) -> float:
        """A number that takes long to derive from the data: computed once for all processes that open the cached dataset.

        `owner` is the class whose code computes it. When that code changes, the number is computed again.
        """
        store: FactStore | None = self.__dict__.get("_fact_store")
        return self.memo(key, compute if store is None else lambda: store.get(key, owner, compute))

    def store_facts(self, store: FactStore) -> None:
        """From now on, keep facts in `store`."""
        self.__dict__["_fact_store"] = store

    @property
    def weight(self) -> int:
        """Number of stored array elements: what one pass over the data costs."""
        return sum(a.size for a in arrays_of(self).values())

    def statistics(self) -> dict[str, float]:
        """The row of the paper's dataset table that describes this dataset."""
        raise NotImplementedError

    def facts(self) -> str:
        """The sizes of the data in a few words, for `repr`."""
        return ", ".join(
            f"{_shown_number(value)} {name.replace('_', ' ')}" for name, value in self.statistics().items()
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.facts()})"

    def _repr_html_(self) -> str:
        from dpbench.data.html import facts_table

        rows = ((name.replace("_", " "), value) for name, value in self.statistics().items())
        return facts_table(type(self).__name__, rows, "These numbers are exact: they are not for publication.")

    def __getstate__(self) -> dict[str, Any]:
        # The memo and cached properties are not pickled: workers get paths, and a copy recomputes what it needs.
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        Data.__post_init__(self)  # read-only again


def arrays_of(data: Data) -> dict[str, NDArray[Any]]:
    """The array fields of `data`, by name; labels become two arrays, `NAME.text` and `NAME.ends`."""
    arrays: dict[str, NDArray[Any]] = {}
    for field in dataclasses.fields(data):
        value = getattr(data, field.name)
        if isinstance(value, Labels):
            arrays |= {f"{field.name}.text": value.text, f"{field.name}.ends": value.ends}
        elif isinstance(value, np.ndarray):
            arrays[field.name] = value
    return arrays


def fields_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The inverse of `arrays_of`: fields by name, with labels joined again."""
    named = {name.removesuffix(".text") for name in arrays if name.endswith(".text")}
    plain: dict[str, Any] = {name: array for name, array in arrays.items() if "." not in name}
    return plain | {name: Labels(arrays[f"{name}.text"], arrays[f"{name}.ends"]) for name in named}


def scalars_of(data: Data) -> dict[str, Any]:
    """The other fields of `data` that are set (sizes, names of contexts): plain JSON values or tuples of them."""
    pairs = ((f.name, getattr(data, f.name)) for f in dataclasses.fields(data))
    return {name: value for name, value in pairs if value is not None and not isinstance(value, np.ndarray | Labels)}


def labelled(what: str, labels: Any, size: int) -> Labels | None:
    """The names of `size` items, checked; None stays None."""
    if labels is None:
        return None
    if len(labels) != size:
        raise UserError(f"{what}: {len(labels)} item_labels, expected {size}")
    return Labels.of(labels)


def _shown_number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int | np.integer) else f"{value:,.4g}"


def whole_numbers(where: str, values: Any, expected: str) -> NDArray[np.int64]:
    """A list of numbers as an array of integers. Anything that is not a whole number is an error, never truncated.

    2.0 is accepted, because tables with missing values store whole numbers as floats.
    """
    if isinstance(values, str | bytes) or not np.iterable(values):
        raise UserError(f"{where} is {_shown(values)}: expected a list of whole numbers, {expected}")
    values = values if isinstance(values, np.ndarray) else list(values)
    try:
        array = np.asarray(values)
    except ValueError:  # nested lists of different lengths
        array = np.asarray(values, dtype=object)
    if array.ndim == 1 and array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    for value in values:
        if not is_whole(value):
            raise UserError(f"{where} has {_shown(value)}: expected whole numbers, {expected}")
    return np.array([int(value) for value in values], dtype=np.int64)


def is_whole(value: Any) -> bool:
    """Whether `value` is a whole number that fits 64 bits, whatever its type. True and False do not count."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return math.isfinite(value) and bool(value == int(value)) and abs(int(value)) < 2**63


def _shown(value: Any) -> str:
    """A value for messages: numpy numbers are shown without their type."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def check_csr(what: str, indptr: NDArray[np.int64], values: NDArray[np.integer[Any]], limit: int) -> None:
    """The invariants of a CSR layout: offsets from 0 to len(values), never decreasing; values inside [0, limit)."""
    if indptr.ndim != 1 or indptr.size < 1 or indptr[0] != 0 or indptr[-1] != values.size:
        raise UserError(f"{what}: offsets must run from 0 to {values.size}, the number of entries")
    if indptr.size > 1 and np.any(np.diff(indptr) < 0):
        raise UserError(f"{what}: offsets must not decrease")
    if values.size and (int(values.min()) < 0 or int(values.max()) >= limit):
        bad = int(values.min()) if int(values.min()) < 0 else int(values.max())
        raise UserError(f"{what}: index {bad} is outside 0..{limit - 1}")
