"""Records and replays the steps of a release: a `Noise` that records its steps and can return given outputs.

A recorded run is a transcript. Replayed on a neighbour, every step must have the same kind, size and scale, and returns the
recorded output. What may still differ are the exact values before noise, which cost privacy.
Imported by the audit by replay; imports privacy.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.auditing.published import FORM
from dpbench.errors import UserError
from dpbench.privacy import Law, Noise, RandomStep
from dpbench.privacy._words import Seeded, Words
from dpbench.privacy.choose import ChooseStep
from dpbench.privacy.draw import DrawStep


class Differs(Exception):
    """Something that must be equal on both neighbours is not. `step` names where.

    followed: whether the steps themselves agree, so that the difference is one of a parameter or of the form of the release.
    Otherwise a construction that replay cannot follow may still be private.
    published: the name of what differs in the release.
    """

    def __init__(self, step: str, what: str, *, followed: bool = False, published: str = "") -> None:
        super().__init__(what)
        self.step, self.what, self.followed, self.published = step, what, followed, published


@dataclass(frozen=True, eq=False)
class Step:
    """One call of `Noise`."""

    kind: str
    name: str
    exact: NDArray[Any]
    """The values before noise; for `rows` the number of rows; empty for `draw`."""
    parameters: Mapping[str, NDArray[Any]]
    """Parameters that must be equal, bit for bit: scale, alpha, epsilon ..."""
    output: Any
    law: Law[Any] | None = None
    taken: RandomStep | None = None
    """The step itself, by which its sampler can be tested."""

    def __str__(self) -> str:
        return self.kind if self.name == self.kind else f"{self.kind} {self.name!r}"


@dataclass(frozen=True, eq=False)
class Trace:
    """All steps of one run, and what it published."""

    steps: tuple[Step, ...]
    published: Mapping[str, bytes] = field(default_factory=dict)
    """What was published, by name, bit for bit."""


class RecordingNoise(Noise):
    """Noise that records its steps, in the form in which it is drawn.

    given: a transcript whose outputs are returned instead of fresh noise. A step that does not agree with it raises
    `Differs`.
    forced: outcomes of `choose`, by the number of the step.
    secure: look like the system's generator to the code of a class, and draw from the seeded one.
    low: every noisy number is negative, which is possible: what is clamped to zero is then equal, and ties are common.
    newcomers: the numbers of `rows` steps at which the row that the transcript's data lacks is in the sample.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        given: Sequence[Step] | None = None,
        forced: Mapping[int, int] | None = None,
        newcomers: Collection[int] = (),
        low: bool = False,
        form: str = "float",
        secure: bool = False,
    ) -> None:
        super().__init__(rng, form)
        self.low, self.secure = low, secure
        self.given, self.forced, self.newcomers = given, forced or {}, newcomers
        self.steps: list[Step] = []

    def take(self, step: RandomStep, name: str = "") -> Any:
        exact = np.array(step.values)
        parameters = {key: np.array(value) for key, value in step.parameters().items()}
        law = step.law if isinstance(step, DrawStep) else None
        asked = Step(step.kind, name or step.kind, exact, parameters, None, law, step)
        if self.form == "exact" and step.inexact:
            raise UserError(f"{asked} has no exact noise: {step.inexact}")
        if self.given is not None:
            output = self._recorded(asked)
        elif isinstance(step, ChooseStep) and len(self.steps) in self.forced:
            output = self.forced[len(self.steps)]
        else:
            output = super().take(step, name)
            if self.low and step.per_value:
                output = -np.abs(output) - 1
        # Never a view of more: what is returned is the same however often it is played.
        self.steps.append(replace(asked, output=copy.deepcopy(output)))
        return copy.deepcopy(output)

    def _words(self, name: str) -> Words:
        return Seeded(self._generator(name))

    def _recorded(self, step: Step) -> Any:
        """The output of the same step of the transcript."""
        number = len(self.steps)
        if self.given is None or number >= len(self.given):
            raise Differs(str(step), f"{step} is one step more than on the neighbour")
        recorded = self.given[number]
        if (recorded.kind, recorded.name) != (step.kind, step.name):
            raise Differs(str(step), f"step {number + 1} is {step} on one neighbour and {recorded} on the other")
        for key, value in step.parameters.items():
            other = recorded.parameters.get(key)
            if other is None or value.shape != other.shape or value.tobytes() != other.tobytes():
                what = f"the {key} of {step} differs: {shown(other)} and {shown(value)}"
                raise Differs(str(step), what, followed=True)
        if step.kind == "rows":
            return self._sampled(number, recorded, int(step.exact))
        if step.exact.shape != recorded.exact.shape:
            sizes = f"{recorded.exact.size} and {step.exact.size} values"
            raise Differs(str(step), f"the size of {step} differs: {sizes}")
        return recorded.output

    def _sampled(self, number: int, recorded: Step, n: int) -> NDArray[np.int64]:
        """The recorded sample, limited to the rows of this data, plus the new row if it is a newcomer."""
        known = int(recorded.exact)
        if abs(n - known) > 1:
            raise Differs(str(recorded), f"{recorded} samples from {known} and from {n} rows")
        output: NDArray[np.int64] = recorded.output[recorded.output < n]
        if n > known and number in self.newcomers:
            output = np.append(output, known)
        return output.copy()


def shown(value: NDArray[Any] | None) -> str:
    """A parameter in a few characters."""
    if value is None:
        return "nothing"
    if value.ndim == 0:
        return f"{value.item():.9g}" if value.dtype.kind in "fiu" else str(value.item())
    return f"{value.size} numbers from {value.min():.9g} to {value.max():.9g}" if value.size else "no numbers"


def compare_published(one: Trace, other: Trace) -> None:
    """Raise `Differs` unless both runs published the same, bit for bit."""
    for name in {**one.published, **other.published}:
        if one.published.get(name) != other.published.get(name):
            what = f"the published {name!r} differs though every step gave the same output"
            raise Differs("published", what, followed=name.startswith(FORM), published=name)
