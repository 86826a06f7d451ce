"""Single runs of a mechanism whose steps are recorded, or played back. An error, a warning and printed text are outputs, too.

Imported by the audit by replay; imports recording.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpbench.auditing.foreign import is_foreign
from dpbench.auditing.published import published
from dpbench.auditing.recording import Differs, RecordingNoise, Step, Trace, compare_published
from dpbench.auditing.values import without_addresses
from dpbench.data import Data

FAILURE = "error"
"""The name of an error among what is published."""


class DataRefused(Exception):
    """The mechanism does not run on a dataset of the pair. `steps`: those that it took before it failed."""

    def __init__(self, what: str, steps: tuple[Step, ...] = ()) -> None:
        super().__init__(what)
        self.steps = steps


class RunFailed(Exception):
    """A run raised an error, after some steps."""

    def __init__(self, error: Exception, steps: Sequence[Step]) -> None:
        super().__init__(without_addresses(f"{type(error).__name__}: {error}"))
        self.steps = tuple(steps)


def run(mechanism: Any, data: Data, epsilon: float, seed: int, **played: Any) -> Trace:
    """One run with the streams of a seed; `played`: options of `RecordingNoise`, among them the form of the noise.

    Every other seed of exact noise looks like the system's generator: `noise.secure` is true then.
    """
    secure = played.get("form") == "exact" and seed % 2 == 1
    noise = RecordingNoise(np.random.default_rng(seed), secure=secure, **played)
    said: dict[str, bytes] = {}
    try:
        with heard(said) if is_foreign(type(getattr(mechanism, "inner", mechanism))) else contextlib.nullcontext():
            release = mechanism.publish(data, epsilon, noise)
        shown = published(release)
    except Differs:
        raise
    except Exception as error:  # user's code may raise anything
        raise RunFailed(error, noise.steps) from error
    if noise.given is not None and len(noise.steps) < len(noise.given):
        raise Differs(
            str(noise.given[len(noise.steps)]), f"{noise.given[len(noise.steps)]} is missing on the neighbour"
        )
    return Trace(tuple(noise.steps), {**said, **shown})


@contextlib.contextmanager
def heard(said: dict[str, bytes]) -> Iterator[None]:
    """What is printed and warned in the meantime: whoever asks for a release sees it. Not what numpy says of its numbers."""
    text = io.StringIO()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            yield
    texts = [str(each.message) for each in warned if not issubclass(each.category, RuntimeWarning)]
    said |= {"warnings": "\n".join(texts).encode(), "printed text": text.getvalue().encode()}


def record(mechanism: Any, data: Data, epsilon: float, seed: int, **played: Any) -> Trace:
    """A run on one neighbour; `played`: the form, and outcomes of `choose` that are forced."""
    try:
        return run(mechanism, data, epsilon, seed, **played)
    except RunFailed as error:  # the pair gives no result
        raise DataRefused(f"it fails on a pair: {error}", error.steps) from error


def replay(mechanism: Any, data: Data, epsilon: float, seed: int, given: Trace, **played: Any) -> Trace:
    """The same run on a neighbour. Raises `Differs` if it does not take the same steps."""
    try:
        trace = run(mechanism, data, epsilon, seed, given=given.steps, **played)
    except RunFailed as error:
        raise Differs("publish", f"it fails on the neighbour: {error}", published=FAILURE) from error
    compare_published(given, trace)
    return trace
