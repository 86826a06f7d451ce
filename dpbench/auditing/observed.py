"""What a release shows, whatever mechanism made it: numbers at positions, and items with or without a value.

Our releases are read by their parts. A user's own mechanism may return anything made of numbers, arrays, lists, dicts, sets
and words, of any length. Imported by the sequential test. Imports releases only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from collections.abc import Set as AnySet
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.auditing.foreign import is_foreign
from dpbench.auditing.published import beyond
from dpbench.auditing.values import as_bytes, without_addresses
from dpbench.data import History, Release, TopK
from dpbench.data.summary import Entries, Projected, Sketched
from dpbench.errors import UserError

PLACES = 64
"""Most places of a sketch whose estimates are used."""
NEARLY = 1e-4
"""How far a number is from a whole one at most, to be nearly whole."""
LOW_BITS = 8
"""Numbers of a part whose last bits are looked at."""
DEPTH = 8
"""Deepest nesting of dicts, lists and objects."""


@dataclass
class Observed:
    """One release, split into numbers and items."""

    numbers: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """Numbers identified by their position."""
    items: dict[str, dict[Hashable, float]] = field(default_factory=dict)
    """Items that are present or not, each with its value, its position in a list, or 1."""


def observe(release: Any) -> Observed:
    """Everything that a release publishes."""
    found = Observed()
    if isinstance(release, Release):
        _own(release, found)
        return found
    _take(release, "", found, 0)
    # The type and the last bits show something, too.
    kind = f"{type(release).__name__} {getattr(release, 'dtype', '')}"
    found.items["type"] = {kind: 1.0}
    for name, part in [*found.numbers.items()]:
        found.numbers[f"low bits of {name}"] = low_bits(part[:LOW_BITS])
        found.items[f"whole numbers of {name}"] = nearly_whole(part[:LOW_BITS])
    return found


def nearly_whole(numbers: NDArray[np.float64]) -> dict[Hashable, float]:
    """The places whose numbers are nearly whole, with these whole numbers: exact counts show, however rarely they do."""
    whole = np.rint(numbers)
    with np.errstate(invalid="ignore"):
        at = np.flatnonzero(np.abs(numbers - whole) < NEARLY)
    return {(place, float(whole[place])): 1.0 for place in at.tolist()}


def low_bits(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The last eight bits of each number, as a number: what is hidden there shows, ordinary rounding does not."""
    mantissa, _ = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    return ((np.abs(mantissa) * 2.0**53).astype(np.int64) & 255).astype(np.float64)


def released(mechanism: Any, data: Any, epsilon: float, rng: np.random.Generator) -> Observed:
    """One release. An error is an output, too: if one neighbour causes it more often, it distinguishes them."""
    try:
        release = mechanism.release(data, epsilon, rng)
    except Exception as error:
        text = without_addresses(f"{type(error).__name__}: {error}")
        return Observed(items={"raised": {type(error).__name__: 1.0, text: 1.0}})
    return observe(release)


def _own(release: Release, found: Observed) -> None:
    """A release of ours. Which cells, items or columns are listed reveals as much as the numbers beside them."""
    listed: tuple[str, ...] = ()
    if isinstance(release, Entries):
        listed = release.numbers
        cells = release.cells.tolist()
        found.items["cells"] = dict(zip(cells, release.weights.tolist(), strict=True))
        found.items["order of cells"] = {bool(np.all(np.diff(release.cells) > 0)): 1.0}
        if release.values is not None:
            found.items["values"] = dict(zip(cells, release.values.tolist(), strict=True))
    elif isinstance(release, TopK):
        listed = ("top",)
        found.items["top"] = {column: float(place) for place, column in enumerate(release.top.tolist())}
    elif isinstance(release, History) and release.history is not None:
        listed = ("history",)
        found.items["history"] = dict.fromkeys(release.history.tolist(), 1.0)
    elif isinstance(release, Sketched):
        # Each release draws new hash functions, so only the estimates of places can be compared.
        listed = release.numbers
        places = np.arange(min(release.places, PLACES))
        for row, seed in enumerate(release.seeds):
            one = replace(release, buckets=release.buckets[row : row + 1], seeds=(seed,))
            found.numbers[f"row {row}"] = one.at(places)
    elif isinstance(release, Projected):
        listed = release.numbers  # of any length, and with new hash functions too
        found.numbers["estimates"] = release.at(np.arange(min(release.places, PLACES)))
    for name, part in Release.parts(release).items():
        if name not in listed:
            found.numbers[name] = part
    _in_order(release.chosen, "chosen", found)
    # What a user's own class adds, or an attribute that no field declares, is compared by its bytes.
    known = {each.name for each in dataclasses.fields(_known_base(release))}
    if {*vars(release)} - known:
        found.items |= {
            name: {as_bytes(value).hex()[:12]: 1.0} for name, value in beyond(release).items() if name not in known
        }
    if is_foreign(type(release)):
        found.items["type"] = {type(release).__qualname__: 1.0}


def _known_base(release: Release) -> type[Release]:
    """The nearest class of ours."""
    return next(cls for cls in type(release).__mro__ if not is_foreign(cls))


def _take(value: Any, name: str, found: Observed, depth: int) -> None:
    """Any value, by its type."""
    if depth > DEPTH:
        raise UserError(f"cannot read a release of more than {DEPTH} lists, dicts or objects inside each other")
    called = name or "value"
    if isinstance(value, Real):  # True and False, too
        found.numbers[called] = np.array([float(value)])
    elif value is None or isinstance(value, str | bytes):
        found.items.setdefault(called, {})[value] = 1.0
    elif isinstance(value, AnySet):
        found.items[called] = dict.fromkeys((_item(one) for one in value), 1.0)
    elif isinstance(value, Mapping):
        _take_mapping(value, name, found, depth)
    elif isinstance(value, np.ndarray | list | tuple):
        _take_list(value, called, found, depth)
    elif isinstance(value, Release):
        _own(value, found)
    elif callable(getattr(value, "toarray", None)):
        _take(value.toarray(), name, found, depth + 1)
    elif callable(getattr(value, "to_dict", None)):  # pandas
        _take(value.to_dict(), name, found, depth + 1)
    elif dataclasses.is_dataclass(value) or hasattr(value, "__dict__"):
        fields = dict(vars(value))  # also those that begin with an underscore: they can be read
        _take_mapping(fields, name, found, depth)
    else:
        kinds = "numbers, arrays, lists, dicts, sets or words"
        raise UserError(f"cannot read a release of type {type(value).__name__}: expected {kinds}")


def _take_mapping(value: Mapping[Any, Any], name: str, found: Observed, depth: int) -> None:
    """One item per key if all values are numbers; otherwise each value separately. The order of the keys is shown, too."""
    _in_order(value, name or "value", found)
    if value and all(isinstance(part, Real) for part in value.values()):
        found.items[name or "value"] = {_item(key): float(part) for key, part in value.items()}
        return
    for key, part in value.items():
        _take(part, f"{name}.{key}" if name else str(key), found, depth + 1)


def _in_order(value: Mapping[Any, Any], name: str, found: Observed) -> None:
    if len(value) > 1:
        found.items[f"{name} in order"] = {_item(key): float(place) for place, key in enumerate(value)}


def _take_list(value: Any, name: str, found: Observed, depth: int) -> None:
    """Numbers by their positions; words, and also integers without repeats (a ranking, a set), as items."""
    array = None
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = None
    if array is not None and array.dtype.kind in "biuf":
        found.numbers[name] = array.astype(np.float64).ravel()
        if array.ndim == 1 and array.dtype.kind in "iu" and np.unique(array).size == array.size:
            found.items[f"{name} as items"] = {item: float(place) for place, item in enumerate(array.tolist())}
    elif all(isinstance(one, Hashable) and not isinstance(one, tuple) for one in value):
        found.items[name] = {_item(item): float(place) for place, item in enumerate(value)}
    else:
        for place, part in enumerate(value):
            _take(part, f"{name}.{place}", found, depth + 1)


def _item(value: Any) -> Hashable:
    return value.item() if isinstance(value, np.generic) else value
