"""Expressions of claims are bounded: a wrong one is an error that names the claim, and never hangs."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from dpbench.claims.cells import CellTrials
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import check, ledger
from dpbench.claims.scope import Scope
from dpbench.errors import UserError
from dpbench.model.claim import OPEN, Claim, Region

from support import runs
from support.verdicts import evaluate

WRONG = {
    "1/0": "cannot compute '1 / 0': float division by zero",
    "9**9**9": "cannot compute",
    "9.0**9**9**9": "cannot compute",
    "(-8)**0.5": "it has no finite value",
    "0**-1": "cannot compute",
    "1e999": "it has no finite value",
    "9" * 400: "cannot compute",
    "1e308*10": "it has no finite value",
    "log(0)": "it has no finite value",
    "exp(1e6)": "it has no finite value",
    "sqrt(-1)": "it has no finite value",
    "-" * 500 + "1": "nested too deeply",
    "(" * 250 + "1" + ")" * 250: "cannot read|nested too deeply",
    "+".join(["1"] * 100): "nested too deeply",
    "abs(" * 60 + "1" + ")" * 60: "nested too deeply",
    "1+" * 600 + "1": "too long",
    "True + 1": "expected a number",
    "'a' * 9": "expected a number",
    "b'x'": "expected a number",
    "1j": "expected a number",
    "1 % 2": "is not allowed in a measure",
    "1 << 9": "is not allowed in a measure",
    "loss(lpa)": "expected METRIC",
    "mae(x=-'a')": "expected a number",
    "mae(x=1e999)": "no finite value",
    "mae(**{'a': 1})": "is not allowed in a measure",
    "metric('subprocess.Popen')(1)": "expected METRIC",
    "\x00": "cannot read",
}


def claim(measure: str) -> Claim:
    made = Claim(id="mine/c", paper="mine", place="Figure 1", says="so", measure=measure, expect="< 1")
    check(made)
    return made


@pytest.mark.parametrize("measure", WRONG, ids=lambda m: m[:20])
def test_what_cannot_be_computed_names_the_claim(measure: str) -> None:
    began = time.process_time()
    with pytest.raises(UserError, match=WRONG[measure]) as caught:
        Judge(Path("nowhere")).verdict(claim(measure))
    assert str(caught.value).startswith("claim mine/c: ")
    assert len(str(caught.value)) < 1200
    assert time.process_time() - began < 5


def test_a_zero_among_the_results_is_no_mistake_of_the_claim() -> None:
    """An error of 0 leaves a ratio without a value: it decides nothing, and the other claims continue."""
    cells = [
        CellTrials("a", {"mechanism": "a"}, {"mae": np.array([0.0, 0.0])}),
        CellTrials("b", {"mechanism": "b"}, {"mae": np.ones(2)}),
    ]
    assert np.isinf(evaluate("mae(mechanism=b) / mae(mechanism=a) ** 9 ** 2", Scope(cells)).value)

    class Stored(Judge):
        def __init__(self) -> None:
            self.results, self.runs = Path("results"), {"x/fig": runs.run("x/fig", [])}
            self._cells = {"x/fig": cells}
            self.each = dict(self.runs)
            self.record = None

    ratio = {"measure": "mae(mechanism=b) / mae(mechanism=a)", "expect": "< 1"}
    asked = Claim(id="x/c", paper="x", place="p", says="s", experiment="x/fig", **ratio)  # type: ignore[arg-type]
    assert Stored().verdict(asked).verdict == OPEN


GOOD = 'c:\n  place: p\n  says: s\n  measure: mae()\n  expect: "< 1"\n'


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("  mesure: mae()", r"claim mine/c: unknown key 'mesure': did you mean 'measure'\? \(.*mine.yaml, line 6\)"),
        ("  each: 5", r"claim mine/c: each=5 is not valid: expected a text or a list \(.*line 6\)"),
        ("  numbers: [1]", r"numbers=\[1\] is not valid: expected keys and values"),
        ("  numbers: {x: much}", r"numbers: x='much' is not valid: expected a number"),
        ("  where: {l: {a: 1}}", r"where l=\{'a': 1\} is not valid: expected words or numbers"),
        ("  exact: maybe", "exact='maybe' is not valid: expected true or false"),
        ("  note: [1]", r"note=\[1\] is not valid: expected a text"),
        ("  note: a\n  note: b", r"mine.yaml, line 7: the key 'note' occurs twice, first in line 6"),
        ("c:\n  place: p", r"mine.yaml, line 6: the key 'c' occurs twice, first in line 1"),
        ("  note: !!python/name:os.system x", r"mine.yaml, line 6: could not determine a constructor"),
    ],
)
def test_a_wrong_claim_is_named_with_its_line(tmp_path: Path, more: str, message: str) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    assert len(ledger(folder=tmp_path)) == 1
    (tmp_path / "mine.yaml").write_text(f"{GOOD}{more}\n")
    with pytest.raises(UserError, match=message):
        ledger(folder=tmp_path)


def test_a_measure_is_read_with_the_ledger(tmp_path: Path) -> None:
    """Not only when its experiment was run."""
    (tmp_path / "mine.yaml").write_text(GOOD.replace("mae()", "mae( /"))
    with pytest.raises(UserError, match=r"claim mine/c: cannot read the measure 'mae\( /': .*line 4"):
        ledger(folder=tmp_path)


def test_a_factor_of_nothing() -> None:
    with pytest.raises(UserError, match="expected a factor above 0"):
        Region.parse("about 1 within a factor 0")
