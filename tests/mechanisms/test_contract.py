"""The contract of a mechanism, checked for every registered one on a small example of each data kind it accepts.

Only `test_error_falls_as_epsilon_grows` is statistical: it compares means over `TRIALS` releases at budgets a hundredfold
apart, and asks for a fall beyond four standard errors; the seeds are fixed.
"""

from __future__ import annotations

import dataclasses
import math
import pickle
import re
import warnings

import numpy as np
import pytest

import dpbench
from dpbench.data.base import Data, arrays_of
from dpbench.data.stages import PARTS
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS, Mechanism
from dpbench.tasks.base import TASKS

from support.examples import CONSTANT, EXAMPLES, VARIANTS, example_of

SPLIT_BY = {
    "incidence": TASKS.make("column_counts"),
    "records": TASKS.make("record_analytics"),
    "contingency": TASKS.make("range_queries", share=0.1, queries=30),
}
UNSPLIT = {"synthesizer"}
"""Mechanisms whose release is one draw: nothing is true of it before noise."""
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
def test_the_split_of_the_error_adds_up(name, parameters, kind):
    """Every stage by definition: the mean of (its part) x (the whole error). Rankings and histories have no counts to split."""
    if kind not in SPLIT_BY or name in UNSPLIT:
        pytest.skip("has nothing to split")
    data, mechanism, task = example_of(name, kind).data(), dpbench.mechanism(name, **parameters), SPLIT_BY[kind]
    release = mechanism.release(data, 0.8, rng(2))
    if isinstance(release, dpbench.TopK):
        return
    before = release.published()
    scores = task.score(data, release, rng())
    assert release.stages is not None, f"{name} does not tell its stages: () where noise is all there is"
    told = [stage.part for stage in release.stages]
    assert len({*told}) == len(told)
    assert {*told} <= {*PARTS}
    answers = (lambda x: task.answers(data, x)) if kind == "contingency" else np.asarray
    truth = task.truth(data) if kind == "contingency" else data.counts.astype(float)
    errors, so_far, expected = task.errors(data, release), 0.0, dict.fromkeys((*PARTS, "noise"), 0.0)
    for stage in release.stages:
        after = answers(stage.answers) - truth
        assert after.shape == errors.shape
        expected[stage.part] = float(np.mean((after - so_far) * errors))
        so_far = after
    expected["noise"] = float(np.mean((errors - so_far) * errors))
    found = {part: scores[f"share_{part}"] for part in expected}
    size = 1e-9 * max(map(abs, expected.values()))
    assert found == pytest.approx(expected, rel=1e-9, abs=size)
    assert math.fsum(found.values()) == pytest.approx(scores["mse"], rel=1e-9, abs=size)
    assert np.array_equal(before, release.published()), "the split changes what is published"
    assert np.array_equal(before, mechanism.release(data, 0.8, rng(2)).published())
    assert pickle.loads(pickle.dumps(release)).published().size == before.size


@every_mechanism
@pytest.mark.parametrize("epsilon", [0, 0.0, -1, math.nan, math.inf])
def test_wrong_epsilon_is_refused(name, parameters, kind, epsilon):
    with pytest.raises(UserError, match="epsilon"):
        dpbench.mechanism(name, **parameters).release(example_of(name, kind).data(), epsilon, rng())


@every_mechanism
def test_extreme_budgets_have_a_clear_answer(name, parameters, kind):
    """Numbers that are finite, or a refusal that names epsilon; beyond 1e-50 and 1e50 always the refusal."""
    data, mechanism = example_of(name, kind).data(), dpbench.mechanism(name, **parameters)
    for epsilon in (1e-300, 5e-324, 1e-51, 1e51, 1e300, 1.7e308):
        with pytest.raises(UserError, match=r"epsilon=.* is too (small|large): expected a number from 1e-50 to 1e\+50"):
            mechanism.release(data, epsilon, rng())
    for epsilon in (1e-50, 1e-30, 1e-9, 1e4, 1e50):
        if refused := mechanism.refusal(data, epsilon):  # which is what the plan shows
            assert f"epsilon={epsilon:g} is too small" in refused
            with pytest.raises(UserError, match=re.escape(refused)):
                mechanism.release(data, epsilon, rng())
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            release = mechanism.release(data, epsilon, rng())
        assert np.isfinite(release.published()).all()


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_wrong_kind_is_refused(name):
    mechanism = dpbench.mechanism(name, **VARIANTS.get(name, [{}])[0])
    with pytest.raises(UserError, match="of no known kind"):
        mechanism.release(Stranger(), 1.0, rng())


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_unknown_parameter_is_named(name):
    with pytest.raises(UserError, match="no parameter 'epsillon'"):
        dpbench.mechanism(name, epsillon=1)
