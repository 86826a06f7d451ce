"""The measures of analytics against plain versions, and Equation 22 against what it claims to minimise. Fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest

import dpbench
from dpbench import Counts, Records
from dpbench.data import Sample
from dpbench.errors import UserError
from dpbench.numerics.sample_error import optimal_l, sample_mse
from dpbench.tasks._comparison import precision_at, top_thresholds
from dpbench.tasks.base import TASKS

from naive import analytics as naive

RNG = np.random.default_rng(0)


def example(seed: int = 1) -> tuple[Records, Counts]:
    """30 items in 3 contexts, with true ties and unused items, and a release with negative and equal counts."""
    rng = np.random.default_rng(seed)
    users = [[(int(rng.integers(25)), int(rng.integers(3))) for _ in range(rng.integers(1, 9))] for _ in range(40)]
    data = Records.from_rows(users, items=30, contexts=3)
    counts, edges = data.counts + rng.laplace(0, 3, 30), data.edges + rng.laplace(0, 3, (30, 3))
    return data, Counts(counts=np.round(counts), edges=np.round(edges), sample=Sample(records=12))


def test_errors_and_divergence_are_those_of_the_definition() -> None:
    data, release = example()
    scores = TASKS.make("record_analytics").score(data, release, RNG)
    assert scores["mse"] == pytest.approx(np.mean((release.counts - data.counts) ** 2))
    assert scores["edge_mse"] == pytest.approx(np.mean((release.edges - data.edges) ** 2))
    assert (release.counts <= 0).any()
    assert scores["kl"] == pytest.approx(naive.kl(release.counts.tolist(), data.counts.tolist()))
    assert scores["kl_reverse"] == pytest.approx(naive.kl(data.counts.tolist(), release.counts.tolist()))
    flat = release.edges.ravel().tolist(), data.edges.ravel().tolist()
    assert scores["edge_kl"] == pytest.approx(naive.kl(*flat))
    assert scores["reduction"] == 12 / data.records


def test_precision_is_the_mean_over_orders_of_equal_counts() -> None:
    """Against 4000 shuffled sorts, with 5 standard errors; edges are averaged over contexts."""
    data, release = example()
    ks = (1, 5, 10, 29)
    scores = TASKS.make("record_analytics", ks=ks).score(data, release, RNG)
    rng = np.random.default_rng(2)
    for k in ks:
        lists = [naive.precision(release.counts, data.counts, k, rng) for _ in range(4000)]
        assert abs(scores[f"precision_at_{k}"] - np.mean(lists)) <= 5 * np.std(lists) / np.sqrt(4000) + 1e-12
    contexts = [[naive.precision(release.edges[:, j], data.edges[:, j], 5, rng) for _ in range(2000)] for j in range(3)]
    spread = np.sqrt(sum(np.var(c) for c in contexts) / 2000) / 3
    assert abs(scores["edge_precision_at_5"] - np.mean(contexts)) <= 5 * spread + 1e-12


def test_precision_of_one_value_for_all_is_chance_whatever_the_order_of_columns() -> None:
    counts = np.arange(100, 0, -1)
    ks = (1, 10, 50)
    tops = top_thresholds(counts, ks)
    assert precision_at(np.ones(100), counts, tops, ks) == pytest.approx([0.01, 0.1, 0.5])
    assert precision_at(counts.astype(float), counts, tops, ks).tolist() == [1, 1, 1]
    assert precision_at(-counts.astype(float), counts, tops, ks).tolist() == [0, 0, 0]


def test_a_tie_for_the_last_true_place_is_right() -> None:
    counts = np.array([9, 5, 5, 1])
    tops = top_thresholds(counts, (2,))
    assert precision_at(np.array([9.0, 1.0, 5.0, 0.0]), counts, tops, (2,)) == [1.0]


def test_k_above_the_number_of_items_is_left_out_and_bad_ones_are_refused() -> None:
    data, release = example()
    scores = TASKS.make("record_analytics").score(data, release, RNG)
    assert "precision_at_20" in scores
    assert "precision_at_50" not in scores
    for ks in ((), (0,), (1.5,)):
        with pytest.raises(UserError, match="ks="):
            TASKS.make("record_analytics", ks=ks)


def test_a_release_without_edges_has_no_edge_metrics() -> None:
    data, release = example()
    scores = TASKS.make("record_analytics").score(data, Counts(counts=release.counts), RNG)
    assert not [name for name in scores if name.startswith("edge_")]
    assert scores["reduction"] == 1.0


def test_true_answers_are_computed_once() -> None:
    data, release = example()
    task = TASKS.make("record_analytics")
    first = task.score(data, release, RNG)
    known = set(data.__dict__["_memo"])
    assert task.score(data, release, RNG) == first
    assert set(data.__dict__["_memo"]) == known


def test_bias_and_variance_come_from_the_item_errors() -> None:
    data, release = example()
    assert TASKS.make("record_analytics").errors(data, release).tolist() == (release.counts - data.counts).tolist()


def test_context_shares() -> None:
    data, _ = example()
    sample = Sample(records=4, contexts=np.array([1, 0, 3]))
    release = Counts(counts=np.zeros(30), edges=data.edges * [2.0, 1.0, -1.0], sample=sample)
    scores = TASKS.make("context_shares").score(data, release, RNG)
    totals = data.edges.sum(axis=0)
    assert [scores[f"raw_share_{j}"] for j in range(3)] == pytest.approx(list(totals / data.records))
    assert [scores[f"sample_share_{j}"] for j in range(3)] == [0.25, 0.0, 0.75]
    shown = np.array([2 * totals[0], totals[1], 0])
    assert [scores[f"released_share_{j}"] for j in range(3)] == pytest.approx(list(shown / shown.sum()))


def test_user_sizes() -> None:
    data = Records.from_rows([[0] * n for n in (1, 1, 2, 5, 10)], items=1)
    scores = TASKS.make("user_sizes", bins=5).score(data, Counts(counts=np.zeros(1)), RNG)
    assert scores == {f"at_least_{k}": n for k, n in zip((0, 2, 4, 6, 8, 10), (5, 3, 2, 1, 1, 1), strict=True)}


def test_top_items_names_them_and_shows_ties() -> None:
    counts = {0: 2, 1: 7, 2: 4, 3: 4, 4: 4, 5: 1}
    user = [(item, 1) for item, n in counts.items() for _ in range(n)]
    data = Records.from_rows([user, [(5, 0)] * 50], items=6)
    data = Records(data.indptr, data.items, data.contexts, 6, 2, item_labels=tuple("abcdef"))
    release = Counts(counts=np.zeros(6), edges=np.array([[0, 9], [0, 8], [0, 7.5], [0, 0], [0, 7], [0, 0]]))
    scores = TASKS.make("top_items", context=1, k=3).score(data, release, RNG)
    assert [scores[f"raw_{i}"] for i in range(1, 5)] == ["b", "c", "d", "e"]  # three share the second place
    assert [scores[f"raw_count_{i}"] for i in range(1, 5)] == [7, 4, 4, 4]
    assert [scores[f"top_{i}"] for i in range(1, 4)] == ["a", "b", "c"]
    assert (scores["right"], scores["right_first"], scores["listed"]) == (2, 2, 4)
    assert "raw_5" not in scores
    tied = Counts(counts=np.zeros(6), edges=np.array([[0, 0], [0, 8], [0, 0], [0, 7.5], [0, 7], [0, 0]]))
    scores = TASKS.make("top_items", context=1, k=3).score(data, tied, RNG)
    assert (scores["right"], scores["right_first"]) == (3, 2), "e is as frequent as d, but fourth on the list"
    assert TASKS.make("top_items", context=2).unfit(data) == "there is no context 2, only 0..1"


@pytest.mark.parametrize("p", [0.01, np.array([0.3, 0.02, 0.001, 0.0])])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_optimal_l_minimises_the_model(p: float | np.ndarray, epsilon: float) -> None:
    best = optimal_l(300, p, 40, epsilon)
    grid = np.linspace(0.5 * best, 1.5 * best, 2001)
    errors = [np.mean([naive.equation_21(size, 300, q, 40, epsilon) for q in np.atleast_1d(p)]) for size in grid]
    assert grid[np.argmin(errors)] == pytest.approx(best, rel=1e-3)
    assert optimal_l(300, p, 40, 2 * epsilon) > best  # Theorem 2: it rises with ε1


def test_optimal_l_of_equal_users_is_the_measured_one() -> None:
    """Where every user has as many records as the model says, the l of Equation 22 minimises SRA's true error."""
    rng = np.random.default_rng(5)
    p = np.arange(1, 21) ** -1.0
    p /= p.sum()
    data = Records.from_rows([rng.choice(20, 30, p=p).tolist() for _ in range(400)], items=20)
    best = optimal_l(data.users, data.counts / data.records, 30, 0.05)
    errors = {most: sample_mse(data.item_columns(), most, most / 0.05) for most in range(1, 31)}
    assert 5 < best < 25
    assert min(errors, key=errors.get) == pytest.approx(best, abs=1)


def test_optimal_l_is_reported_by_the_task() -> None:
    data, _ = example()
    release = dpbench.mechanism("sra").release(data, 1.0, np.random.default_rng(0))
    scores = TASKS.make("record_analytics").score(data, release, RNG)
    p = data.counts / data.records
    assert scores["optimal_l"] == pytest.approx(optimal_l(data.users, p, data.records / data.users, 0.5))
    assert "edge_optimal_l" in scores
