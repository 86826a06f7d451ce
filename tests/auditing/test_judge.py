"""Which method audits which mechanism, how names are parsed, and pairs made from a user's table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpbench import Counts, Mechanism, Noise
from dpbench.auditing.judge import AuditedVariant, Options, chosen, findings, own_mechanism
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.replay import fitting_pairs
from dpbench.auditing.search import climb
from dpbench.auditing.tables import read_table, table_pairs
from dpbench.auditing.transcripts import Judged
from dpbench.config import catalogue
from dpbench.errors import UserError
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.setting import Variant


@dataclass(frozen=True)
class Stranger:
    """LPA as a user's own class, with its noise divided by `factor`."""

    bound: int = 2
    factor: float = 1.0

    def release(self, data: Any, epsilon: float, rng: np.random.Generator) -> np.ndarray:
        return data.counts + rng.laplace(0.0, self.bound / epsilon / self.factor, data.columns)


@dataclass(frozen=True, kw_only=True)
class Follows(Mechanism):
    """A user's class that draws its noise as ours do."""

    bound: int = 2

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=noise.laplace(data.counts, scale=self.bound / epsilon))


@dataclass(frozen=True, kw_only=True)
class Declares(Stranger):
    """Says itself that it is not private."""

    def not_private(self) -> str:
        return "too little noise"


def only(mechanism: Any, **options: Any) -> Any:
    (found,) = findings([AuditedVariant("mine", mechanism)], Options(**options))
    return found


def test_what_follows_the_steps_is_replayed() -> None:
    found = only(Follows(), pairs=20)
    assert (found.method, found.verdict, found.pairs) == ("replay", "holds", 20)
    assert found.loss == pytest.approx(1.0)


def test_what_has_only_release_is_tested() -> None:
    found = only(Stranger(), pairs=4, seconds=1)
    assert (found.method, found.verdict, found.guarantee) == ("sequential test", "inconclusive", "ε")
    assert found.reason.startswith("it has no method publish(data, epsilon, noise); nothing found in ")
    assert "ended by the limit of 1 s" in found.reason
    assert found.loss <= 1
    wrong = only(Stranger(factor=3.0), pairs=4, seconds=20)
    assert (wrong.verdict, wrong.parameters) == ("violated", "factor=3")
    assert wrong.loss >= 1
    assert wrong.pair
    assert wrong.step


def test_who_declares_is_not_accused() -> None:
    found = only(Declares(factor=3.0), pairs=4, seconds=20)
    assert (found.verdict, found.reason) == ("declared not private", "too little noise")


def test_names_and_parameters() -> None:
    assert [one.share for one in chosen(["lpa"])] == [3, 3, 3]
    (one,) = chosen(["gs(bound=3, sampling='row')"])
    assert (one.name, one.mechanism.bound, one.mechanism.sampling) == ("gs", 3, "row")
    for wrong in ("lpa(3)", "lpa(bound=)", "lpa(bound=open('x'))", "lpa(**{})"):
        with pytest.raises(UserError, match="cannot read the parameters"):
            chosen([wrong])
    with pytest.raises(UserError, match="no parameter 'bund'"):
        chosen(["lpa(bund=3)"])


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
def test_pairs_of_a_table(form: str, tmp_path: Path) -> None:
    """Without and with one user: the largest and the smallest first."""
    frame = pd.DataFrame({"user": list("aaabbc"), "item": list("xyzxxy"), "context": list("mmnmnm")})
    path = tmp_path / f"visits.{form}"
    if form == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep="," if form == "csv" else "\t", index=False)
    read = read_table(path)
    pairs = table_pairs(read, "records", 5, seed=0)
    assert [pair.name for pair in pairs][:2] == [
        "without and with user a (3 entries)",
        "without and with user c (1 entries)",
    ]
    assert len(pairs) == 3
    before, after = pairs[0].before, pairs[0].after
    assert (before.users, after.users, after.n_items, after.n_contexts) == (2, 3, 3, 2)  # type: ignore[attr-defined]
    assert after.items[after.indptr[-2] :].tolist() == [0, 1, 2], "the new user comes last"  # type: ignore[attr-defined]
    (pair,) = table_pairs(read, "incidence", 1, seed=0)
    assert pair.after.counts.tolist() == [2, 2, 1]  # type: ignore[attr-defined]


def test_tables_that_cannot_be_read(tmp_path: Path) -> None:
    def told(name: str, text: str | None) -> str:
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        with pytest.raises(UserError) as error:
            read_table(path)
        return str(error.value)

    assert "is not a file" in told("none.csv", None)
    assert "unknown ending '.xls'" in told("x.xls", "user,item\n1,2\n")
    assert "no column 'item': did you mean 'items'?" in told("a.csv", "user,items\n1,2\n")
    assert "not a single good line" in told("b.csv", "user,item\n")
    assert "c.csv, line 3: user is empty" in told("c.csv", "user,item\n1,2\n,3\n")
    assert "no column 'user': it is empty" in told("d.csv", "")
    assert "cannot be read" in told("e.parquet", "no")


SHIPPED = [name for name in catalogue.options("mechanism") if name not in MECHANISMS.names()]


@pytest.mark.parametrize("name", SHIPPED)
def test_what_only_a_yaml_names_can_be_audited(name: str) -> None:
    """Without a dataset there is no declared bound: a small one is used."""
    (one,) = own_mechanism(name, catalogue.mechanism(name))
    assert one.name == name
    assert getattr(one.mechanism, "bound", 3) != "declared"


def test_a_list_in_a_yaml_is_several_mechanisms() -> None:
    several = own_mechanism("mine", Variant("mine", "lpa", {"bound": [2, 4]}))
    assert [(one.mechanism.bound, one.share) for one in several] == [(2, 2), (4, 2)]


def test_the_search_keeps_to_the_bound_of_a_users_class() -> None:
    """Only our own classes say what they do with larger rows; for others a larger row would be a false alarm."""
    mechanism = Follows()
    start = [(Judged(pair=pair.name), pair) for pair in fitting_pairs(mechanism, 4, 0)]
    seen: list[Neighbours] = []

    def examine(pair: Neighbours, epsilon: float) -> Judged:
        seen.append(pair)
        return Judged(pair=pair.name)

    list(climb(start, examine, 200, np.random.default_rng(0), mechanism))
    assert len(seen) > 50
    assert max(pair.after.largest_row for pair in seen) == mechanism.bound
