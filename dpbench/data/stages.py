"""`Stage`: what a release would have answered without noise after one of its steps, so that its error can be split.

Mechanisms attach stages to what they release; the tasks, and nobody else, read them. They are exact, so they are not part of
what is published, and they are computed only when a task asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Part = Literal["bounding", "sampling", "grouping", "dropping"]
PARTS: tuple[Part, ...] = ("bounding", "sampling", "grouping", "dropping")
"""What a mechanism does to the truth before noise: it limits what one row adds (bounding), takes some of the records
(sampling), answers several numbers by one (grouping), or leaves numbers out (dropping)."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Stage(Generic[Answer]):
    """One step of a release: its kind, and the answers after it if no noise were added. They take the same form as what is
    published: an array of counts, or a summary.

    `make` draws no random numbers: a stage must not change what noise a release consumes.
    """

    part: Part
    make: Callable[[], Answer] = field(repr=False)

    @cached_property
    def answers(self) -> Answer:
        """Computed when first asked for."""
        return self.make()


def known(part: Part, counts: NDArray[Any]) -> Stage[NDArray[np.float64]]:
    """A stage whose counts the mechanism has computed anyway."""
    return Stage(part, partial(np.asarray, counts, dtype=np.float64))
