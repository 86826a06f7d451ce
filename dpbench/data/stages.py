"""`Stage`: the noise-free answers after one step of a release, so that the error can be split by cause.

Mechanisms attach stages to their releases; only tasks read them. Stages are exact, so they are not part of what is
published. They are computed only when a task asks for them.
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
"""What a mechanism does to the true data before noise: it limits the contribution of each row (bounding), uses only some
records (sampling), gives several numbers one answer (grouping), or leaves numbers out (dropping)."""

Answers = TypeVar("Answers")


@dataclass(frozen=True, eq=False)
class Stage(Generic[Answers]):
    """One step of a release: its kind, and the answers after it if no noise were added, in the same form as what is
    published: an array of counts, or a summary.

    `make` draws no random numbers: a stage must not change the noise of a release.
    """

    part: Part
    make: Callable[[], Answers] = field(repr=False)

    @cached_property
    def answers(self) -> Answers:
        """Computed when first asked for."""
        return self.make()


def known(part: Part, counts: NDArray[Any]) -> Stage[NDArray[np.float64]]:
    """A stage whose counts the mechanism has already computed."""
    return Stage(part, partial(np.asarray, counts, dtype=np.float64))
