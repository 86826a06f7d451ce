"""`assert_private`: a test fails if a mechanism loses more privacy than it states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpbench.api.audit import Audit, audit
from dpbench.data import Data


def assert_private(
    mechanism: Any,
    *,
    epsilon: float | str = 1.0,
    pairs: int | Sequence[tuple[Data, Data]] | None = None,
    delta: float | None = None,
    seconds: float | None = None,
    seed: int = 0,
    strict: bool = True,
) -> Audit:
    """Fail unless the mechanism keeps its guarantee at `epsilon` on all pairs; the text names the pair, the step and the loss.

    The arguments are those of `dpbench.audit`. `strict`: fail also where nothing can be said, as for a class whose noise does
    not come from `noise`, which only releases can be tested of. Returns what was found.
    """
    __tracebackhide__ = True
    result = audit(mechanism, epsilon=epsilon, delta=delta, pairs=pairs, seconds=seconds, seed=seed)
    harmless = () if strict else ("inconclusive",)
    if any(finding.verdict not in ("holds", *harmless) for finding in result):
        raise AssertionError("not private as stated\n" + "\n".join(f"  {problem}" for problem in result.problems()))
    return result
