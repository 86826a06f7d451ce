"""Further choices of parameters: a mechanism with one of its parameters changed, as far as it accepts that. Used by the verb.

A class lists in `audited` the choices by which it is judged. Faults also hide behind others: another transform, limit or way of
sampling, a share on the other side of one half, a larger bound. These are found by the names and types of the fields.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from dpbench.errors import UserError

NAMED: dict[str, tuple[Any, ...]] = {
    "transform": ("none", "dyadic", "haar", "dyadic_product"),
    "sampling": ("column", "row", "none"),
    "limit": ("truncate", "sample"),
    "negatives": ("keep", "zero"),
    "impute": ("zero", "half", "calibrated"),
    "combine": ("mean", "median"),
    "bound": (1, 2, 60),
    "k": (1, 2, 3),
    "l": (1, 3),
    "rows": (1, 3),
}
"""Values of parameters by their names, if they have a value already."""
SHARES = (0.2, 0.8)
"""Values of parameters that are shares of a whole, on both sides of one half."""


def further(mechanism: Any) -> Iterator[Any]:
    """The mechanism with one parameter changed, each once: only choices that it accepts and does not declare not private."""
    if not dataclasses.is_dataclass(mechanism) or isinstance(mechanism, type):
        return
    for field in dataclasses.fields(mechanism):
        for value in _values(field.name, getattr(mechanism, field.name)):
            with contextlib.suppress(UserError, ValueError, TypeError):
                changed = dataclasses.replace(mechanism, **{field.name: value})
                if hasattr(changed, "not_private") and changed.not_private():
                    continue
                yield changed
                if field.name == "transform" and hasattr(mechanism, "k"):
                    yield dataclasses.replace(changed, k=2)


def _values(name: str, given: Any) -> list[Any]:
    if given is None or name in ("laborious", "rebuild"):
        return []
    if isinstance(given, bool):
        return [not given]
    if name in NAMED:
        return [value for value in NAMED[name] if value != given]
    share = name.endswith("share") or name == "private_size"
    return [value for value in SHARES if value != given] if share and isinstance(given, float) and given else []
