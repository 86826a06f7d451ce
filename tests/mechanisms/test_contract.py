"""The contract of a mechanism, asked of every registered one on a small example of each data kind it takes.

Only `test_error_falls_as_epsilon_grows` is statistical: it compares means over `TRIALS` releases at budgets a hundredfold
apart, and asks for a fall beyond four standard errors; the seeds are fixed.
"""

from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest

import dpbench
from dpbench.data.base import Data, arrays_of
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS, Mechanism

from support.examples import CONSTANT, EXAMPLES, VARIANTS, example_of

TRIALS = 60
LOW, HIGH = 0.05, 5.0

CASES = [
    pytest.param(
        name,
        parameters,
        kind,
        id="-".join([name, kind, *(f"{key}={value}" for key, value in parameters.items())]),
        marks=[] if kind in EXAMPLES else pytest.mark.skip(reason=f"tests/examples.py has no example of {kind} data"),
    )
    for name, cls in MECHANISMS.items()
    for kind in cls.kinds
    for parameters in VARIANTS.get(name, [{}])
]
every_mechanism = pytest.mark.parametrize(("name", "parameters", "kind"), CASES)


class Stranger(Data):
    """Data of a kind that no mechanism takes."""

    kind = "of no known kind"


def rng(seed=0):
    return np.random.default_rng(seed)


def same(one, other):
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_there_are_mechanisms():
    assert {"lpa", "alpa", "fpa", "gs_r", "gs_s", "gs"} <= set(MECHANISMS.names())
    assert all(name in MECHANISMS.names() for name in VARIANTS)


@pytest.mark.parametrize(("name", "cls"), MECHANISMS.items())
def test_class_says_what_it_is(name, cls):
    assert cls.name == name
    assert issubclass(cls, Mechanism)
    assert dataclasses.is_dataclass(cls)
    assert cls.__dataclass_params__.frozen
    for fact in ("paper", "place", "privacy", "neighbours"):
        assert getattr(cls, fact), f"{name} does not say its {fact}"
    assert cls.kinds
    assert cls.__doc__
    assert not cls.__doc__.startswith(f"{cls.__name__}("), f"{name} has no docstring of its own"
    assert all(field.kw_only for field in dataclasses.fields(cls))


@every_mechanism
def test_mechanism_is_a_value(name, parameters, kind):
    """Equal when made equal, hashable, picklable, and not to be changed."""
    mechanism = dpbench.mechanism(name, **parameters)
    assert mechanism == dpbench.mechanism(name, **parameters)
    assert hash(mechanism) == hash(pickle.loads(pickle.dumps(mechanism)))
    assert isinstance(mechanism.not_private(), str)
    for field in dataclasses.fields(mechanism):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(mechanism, field.name, 1)


@every_mechanism
def test_release_has_the_right_shape_and_is_finite(name, parameters, kind):
    example = example_of(name, kind)
    data = example.data()
    mechanism = dpbench.mechanism(name, **parameters)
    assert mechanism.unfit(data) == ""
    for epsilon in (LOW, 1, HIGH):
        release = mechanism.release(data, epsilon, rng())
        numbers = example.numbers(release)
        assert numbers
        assert all(np.isfinite(array).all() for array in numbers)
        shapes = example.shapes(data)
        if isinstance(release, dpbench.TopK):
            # Where the domain is unknown, a ranking ends at a stop mark.
            assert release.top.size == parameters["k"] or ("reach" in parameters and release.top.size < parameters["k"])
            assert np.unique(release.top).size == release.top.size
            assert release.columns == data.columns
        else:
            assert shapes is None or [array.shape for array in numbers] == shapes[: len(numbers)]
        assert all(isinstance(key, str) for key in [*release.chosen, *release.diagnostics])
        published = release.published()
        assert published.dtype == np.float64
        assert published.size == sum(part.size for part in release.parts().values()) > 0
        assert np.isfinite(published).all()
        assert {f"chosen.{key}" for key in release.chosen} <= set(release.parts())


@every_mechanism
def test_data_are_read_only_and_stay_as_they_are(name, parameters, kind):
    data, untouched = example_of(name, kind).data(), example_of(name, kind).data()
    assert not any(array.flags.writeable for array in arrays_of(data).values())
    dpbench.mechanism(name, **parameters).release(data, 1.0, rng())
    for key, array in arrays_of(untouched).items():
        assert np.array_equal(getattr(data, key), array)
    for key in data.derived:
        assert np.array_equal(getattr(data, key), getattr(untouched, key))


@every_mechanism
def test_all_randomness_comes_from_rng(name, parameters, kind):
    example = example_of(name, kind)
    data, mechanism = example.data(), dpbench.mechanism(name, **parameters)
    first = example.numbers(mechanism.release(data, 1.0, rng(1)))
    np.random.default_rng().random()  # whatever else happens in between
    assert same(first, example.numbers(mechanism.release(data, 1.0, rng(1)))), "same rng, another release"
    fresh = example.numbers(mechanism.release(example.data(), 1.0, rng(1)))
    assert same(first, fresh), "what was kept in the data's memo changes the release"
    others = [example.numbers(mechanism.release(data, 1.0, rng(seed))) for seed in range(2, 6)]
    assert all(same(first, other) for other in others) == (name in CONSTANT), "another rng, the same release"


@every_mechanism
def test_error_falls_as_epsilon_grows(name, parameters, kind):
    if name in CONSTANT:
        pytest.skip("its error is the same at every epsilon")
    example = example_of(name, kind)
    data, mechanism, stream = example.data(), dpbench.mechanism(name, **parameters), rng(4)
    errors = {
        epsilon: np.array([example.error(data, mechanism.release(data, epsilon, stream)) for _ in range(TRIALS)])
        for epsilon in (LOW, HIGH)
    }
    standard_error = math.hypot(*(e.std() / math.sqrt(TRIALS) for e in errors.values()))
    assert errors[LOW].mean() - errors[HIGH].mean() > 4 * standard_error


@every_mechanism
@pytest.mark.parametrize("epsilon", [0, 0.0, -1, math.nan, math.inf])
def test_wrong_epsilon_is_refused(name, parameters, kind, epsilon):
    with pytest.raises(UserError, match="epsilon"):
        dpbench.mechanism(name, **parameters).release(example_of(name, kind).data(), epsilon, rng())


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_wrong_kind_is_refused(name):
    mechanism = dpbench.mechanism(name, **VARIANTS.get(name, [{}])[0])
    with pytest.raises(UserError, match="of no known kind"):
        mechanism.release(Stranger(), 1.0, rng())


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_unknown_parameter_is_named(name):
    with pytest.raises(UserError, match="no parameter 'epsillon'"):
        dpbench.mechanism(name, epsillon=1)
