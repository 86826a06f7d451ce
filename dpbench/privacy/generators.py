"""What users give as `rng`, as a generator: a seed, None, a numpy Generator or "secure". Imported by `Noise`."""

from __future__ import annotations

import contextlib
from dataclasses import MISSING
from typing import Any

import numpy as np

from dpbench.errors import UserError


def generator_of(rng: Any) -> Any:
    """What users give as `rng`, as a Generator or "secure"."""
    if rng is MISSING:
        given = 'a seed such as rng=7, a numpy Generator, "secure" for a real release, or None for noise that is not reproducible'
        raise UserError(f"release needs `rng`: {given}")
    if isinstance(rng, np.random.Generator | str):
        return rng
    if not isinstance(rng, bool | float):
        with contextlib.suppress(TypeError, ValueError):
            return np.random.default_rng(rng)
    raise UserError(f'rng={rng!r} is not valid: expected a numpy Generator, a seed such as 7, None, or "secure"')
