"""What people who use NumPy, scikit-learn, joblib and notebooks every day expect of an object."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import joblib
import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import dpbench
from dpbench.errors import UserError

from strangers import Where

ROWS = [[0, 2], [1, 2, 3], [2]]
DATA = dpbench.Incidence.from_rows(ROWS, columns=4)
BINARY = np.array([[1, 0, 1, 0], [0, 1, 1, 1], [0, 0, 1, 0]])
LPA = dpbench.mechanism("lpa", bound=3)


# NumPy.


def test_a_seed_is_its_generator() -> None:
    by_seed = LPA.release(DATA, epsilon=1.0, rng=7)
    by_generator = LPA.release(DATA, epsilon=1.0, rng=np.random.default_rng(7))
    assert by_seed.counts.tolist() == by_generator.counts.tolist()
    assert by_seed.counts.tolist() == LPA.release(DATA, epsilon=1.0, rng=np.random.SeedSequence(7)).counts.tolist()


def test_no_seed_is_fresh_noise_and_says_so() -> None:
    one, other = (LPA.release(DATA, epsilon=1.0, rng=None) for _ in range(2))
    assert one.counts.tolist() != other.counts.tolist()
    assert one.randomness == "fresh generator, not reproducible"
    assert "not reproducible" in repr(one)
    assert "not reproducible" in one._repr_html_()


def test_what_is_missing_is_named() -> None:
    with pytest.raises(UserError, match=r"release needs `rng`: a seed such as rng=7, a numpy Generator"):
        LPA.release(DATA, epsilon=1.0)
    with pytest.raises(UserError, match="release needs `epsilon`"):
        LPA.release(DATA)
    for wrong in (True, 0.5, "seven", -1):
        with pytest.raises(UserError, match=r"rng=.* is not valid"):
            LPA.release(DATA, epsilon=1.0, rng=wrong)


@pytest.mark.parametrize(
    "plain",
    [
        BINARY,
        BINARY.astype(bool),
        BINARY.astype(float),
        BINARY.tolist(),
        csr_array(BINARY),
        pd.DataFrame(BINARY, columns=list("abcd")),
        pd.DataFrame({"user": [0, 0, 1, 1, 1, 2], "item": [0, 2, 1, 2, 3, 2]}),
    ],
    ids=["integers", "bool", "float", "lists", "sparse", "wide table", "pairs"],
)
def test_plain_data_are_read_where_there_is_one_way(plain: Any) -> None:
    expected = LPA.release(DATA, epsilon=1.0, rng=7).counts
    assert LPA.release(plain, epsilon=1.0, rng=7).counts.tolist() == expected.tolist()


def test_an_array_is_a_histogram_where_the_mechanism_takes_one() -> None:
    counts = np.array([0, 3, 0, 7])
    made = dpbench.Contingency.from_dict({1: 3, 3: 7}, size=4)
    geometric = dpbench.mechanism("geometric")
    expected = geometric.release(made, epsilon=1.0, rng=7).published()
    assert geometric.release(counts, epsilon=1.0, rng=7).published().tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("plain", "constructor"),
    [
        (ROWS, r"dpbench.Incidence.from_rows\(rows, columns=NUMBER\)"),
        ([[0, 1], [1, 0]], "dpbench.Incidence.from_rows"),  # columns of rows, or zeros and ones?
        (np.array([3, 1, 2]), "dpbench.Incidence.from_rows"),  # counts do not say who has them
        (BINARY * 0.5, "dpbench.Incidence.from_rows"),
        (pd.DataFrame({"who": ["a"], "what": ["b"]}), r"from_pandas\(frame, user=..., item=...\)"),
        ("netflix", "dpbench.Incidence"),
    ],
)
def test_what_has_several_meanings_names_the_constructor(plain: Any, constructor: str) -> None:
    with pytest.raises(UserError, match=constructor):
        dpbench.mechanism("gs_private", bound=3).release(plain, epsilon=1.0, rng=7)


def test_a_table_is_a_dataset_of_a_run(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user": [0, 0, 1], "item": ["a", "b", "b"]})
    run = dpbench.run(dataset={"mine": frame}, mechanism="zero", trials=2, epsilon=1, jobs=1, results=tmp_path)
    assert run.summary()["mae"].tolist() == [1.5]


# scikit-learn.


def test_parameters_and_clones() -> None:
    base = pytest.importorskip("sklearn.base")
    assert LPA.get_params() == {"bound": 3}
    assert LPA.set_params(bound=4) == dpbench.mechanism("lpa", bound=4)
    assert LPA.bound == 3  # frozen: the copy has the new value
    with pytest.raises(UserError, match="unknown parameter 'buond': did you mean 'bound'"):
        LPA.set_params(buond=4)
    for name in ("lpa", "gs", "sketch", "dawa", "s_dpdp", "sra"):
        mechanism = dpbench.mechanism(name)
        assert base.clone(mechanism) == mechanism
        assert base.clone(mechanism) is not mechanism


# joblib.


def test_a_surrounding_configuration_of_joblib_counts(tmp_path: Path) -> None:
    def processes(**given: Any) -> set[float]:
        run = dpbench.run(
            dataset={"mine": DATA}, mechanism=Where(bound=3), epsilon=[1.0, 2.0], trials=4, name=given.pop("name"),
            results=tmp_path / str(given), overrides={"runner.chunk": 2}, progress=False, **given,
        )  # fmt: skip
        return set(run.trials()["chosen.process"])

    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert processes(name="threads", seed=1) == {os.getpid()}
    with joblib.parallel_config(n_jobs=1):
        assert processes(name="one", seed=2) == {os.getpid()}
        assert os.getpid() not in processes(name="own", seed=3, jobs=2)  # what the call says comes first


# Notebooks.


def test_what_a_notebook_shows() -> None:
    release = dpbench.mechanism("gs", bound=3).release(DATA, epsilon=1.0, rng=7)
    assert release.diagnostics  # it has some, and they are not shown
    shown = release._repr_html_()
    assert all(f"chosen.{name}" in shown for name in release.chosen)
    assert not any(name in shown for name in release.diagnostics)
    assert "largest row</th><td>3" in DATA._repr_html_()
    assert "Not private as it is" in dpbench.mechanism("lpa")._repr_html_()
    assert "Not private" not in LPA._repr_html_()
    assert "<script>" not in Where(bound=3).set_params()._repr_html_()


def test_what_is_not_private_is_marked_in_tables_remarks_and_saved_figures(tmp_path):
    """LPA without a bound takes the largest row as its sensitivity; with one it is private. A saved figure has its caption."""
    options = {
        "scale": "smoke",
        "trials": 2,
        "jobs": 1,
        "results": tmp_path,
        "epsilon": [1.0],
        "dataset": ["trajectory"],
    }
    run = dpbench.run(mechanism=["lpa"], overrides={"mechanism.lpa.bound": [None, 100]}, **options)
    table = run.summary()
    assert table["†"].tolist() == ["†", ""]
    assert [*run.summary(by=["mechanism"])["†"]] == ["†"]
    (remark,) = run.remarks()
    assert remark.startswith("† not private as run: lpa: Δ is the largest observed row")
    safe = dpbench.run(mechanism=["zero"], name="safe", **options)
    assert "†" not in safe.summary()
    assert safe.remarks() == []
    figure = run.figure()
    figure.savefig(tmp_path / "saved.png", dpi=100)
    figure.savefig(tmp_path / "cut.png", dpi=100, bbox_inches=None)
    saved, cut = (matplotlib.image.imread(tmp_path / name) for name in ("saved.png", "cut.png"))
    assert saved.shape[0] > cut.shape[0] + 20, "the caption is a few lines high"
