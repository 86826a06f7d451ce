"""The ledger itself: every claim is well formed and finds its numbers; and the verb."""

from __future__ import annotations

import functools
import io
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from dpbench.claims.cells import CellTrials, cells_of
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import ledger
from dpbench.config.catalogue import options
from dpbench.errors import UserError
from dpbench.gate import baselines as utility
from dpbench.model.claim import CONTRADICTED, UNTESTABLE, Claim
from dpbench.model.verdict import Verdict
from dpbench.paths import BASELINES, CONF
from dpbench.storage.frame import PAIRS

from support import runs
from support.runs import run
from support.verdicts import RATIO, Stored, claim, ratio_cells

Call = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_wrong_ledger_is_named(tmp_path: Path) -> None:
    def load(text: str) -> list[Claim]:
        (tmp_path / "mine.yaml").write_text(text)
        return ledger(folder=tmp_path)

    good = 'c: {place: p, says: s, measure: mae(), expect: "< 1"}'
    assert load(good)[0].id == "mine/c"
    for text, message in (
        (good.replace("measure", "mesure"), "claim mine/c: unknown key 'mesure': did you mean 'measure'"),
        (good.replace('"< 1"', "small"), "claim mine/c: expect: 'small' is not valid"),
        ("c: {place: p, says: s, measure: mae()}", "claim mine/c: needs `measure` and `expect`"),
        (good.replace("}", ", basis: rumour}"), "basis='rumour' is not valid"),
        (good.replace("}", ", scale: huge}"), "scale='huge' is not valid"),
        (good.replace("}", ", each: a, some: b}"), "give `each` or `some`"),
        ("c: {place: p", "mine.yaml"),
        ("c: {says: s, untestable: lost}", "claim mine/c: needs `place`: where"),
        (
            "c: {experiment: e}",
            "claim mine/c: needs `place` and `says`: where a paper says it, and what it says .*mine.yaml",
        ),
        (good.replace("}", ", ours: maybe}"), "ours='maybe' is not valid: expected true or false"),
        (good.replace("}", ", same_as: mine/d}"), "same_as: unknown claim 'mine/d'"),
        (
            good.replace("}", ", same_as: mine/c}"),
            "same_as=mine/c is not valid: expected a claim that is counted itself",
        ),
        (good.replace("}", ", where: mae}"), "claim mine/c: where='mae' is not valid"),
        (good.replace("}", ", where: [{a: 1}, b]}"), "claim mine/c: where=.* is not valid"),
        ("c: lost", "claim mine/c: 'lost' is not a claim"),
        ("- c", "mine.yaml: expected claims by name"),
        ("", "mine.yaml: expected claims by name"),
    ):
        with pytest.raises(UserError, match=message):
            load(text)
    load(good)
    with pytest.raises(UserError, match="unknown paper 'min': did you mean 'mine'"):
        ledger(["min"], folder=tmp_path)


CLAIMS = ledger()


def test_every_claim_names_an_experiment_that_exists() -> None:
    known = set(options("experiment"))
    assert CLAIMS
    assert len({c.id for c in CLAIMS}) == len(CLAIMS)
    missing = {c.id: c.experiment for c in CLAIMS if c.experiment and c.experiment not in known}
    assert not missing


def test_no_claim_hides_another_of_its_name() -> None:
    """YAML keeps the last of two equal keys and says nothing."""
    for path in sorted((CONF / "claims").glob("*.yaml")):
        names = re.findall(r"^([\w-]+):$", path.read_text(), flags=re.MULTILINE)
        assert len(names) == len(set(names)) == sum(c.paper == path.stem for c in CLAIMS), path.name


def test_every_erratum_of_the_papers_is_there() -> None:
    """And those that are arithmetic by nature are no more than these."""
    errata = {c.id: c.decided_by for c in CLAIMS if c.basis == "erratum"}
    assert set(errata) == {
        "gs/erratum-laplace-mean",
        "gs/erratum-formula-18",
        "gs/erratum-factor-5",
        "gs/erratum-column-best-netflix",
        "sparse/map-large-subsets",
        "analytics/erratum-foursquare-average",
        "analytics/erratum-netflix-items",
        "analytics/erratum-tenth-movie",
        "analytics/erratum-smallest-user",
        "epicrec/erratum-theorem-3",
        "epicrec/erratum-nonnegative",
        "epicrec/erratum-always",
        "epicrec/erratum-non-convex",
    }
    arithmetic = {name for name, evidence in errata.items() if evidence == "arithmetic, nothing measured"}
    assert arithmetic == {
        "gs/erratum-laplace-mean",
        "gs/erratum-formula-18",
        "gs/erratum-factor-5",
        "sparse/map-large-subsets",
        "analytics/erratum-foursquare-average",
        "analytics/erratum-netflix-items",
    }


WITHDRAWN = ("erratum-fourier-variance", "erratum-private", "erratum-sample-scaled", "erratum-real-threshold")
OURS = {
    "gs/zero-netflix",
    "gs/observed-delta-not-private",
    "gs/sample-scaled",
    "gs/mean-row-not-private",
    "gs/mean-row-private",
    "sparse/imputation-half",
    "sparse/imputation-calibrated",
    "sparse/private-size-cheap",
    "analytics/hpa-recommends-tied",
    "analytics/fourier-repeats",
    "epicrec/movielens-noise",
    "sensitivity/alpa-one-group",
    "sensitivity/equal-rows-unbiased",
    "sensitivity/lemma-1-records",
    "sensitivity/nonbinary-quality-sensitivity",
    "gs/lpa-error",
    "gs/row-rate",
    *(f"analytics/lpa-mse-{name}" for name in ("gowalla", "foursquare", "netflix", "movielens")),
    *(f"analytics/{name}-noise{of}" for name in ("sra", "hpa") for of in ("", "-30")),
}
"""What no paper says: never counted."""


def test_withdrawn_errata_and_own_notes_do_not_count() -> None:
    names = {c.id.partition("/")[2] for c in CLAIMS}
    assert not names & {*WITHDRAWN, "erratum-adult-mean", "erratum-fourier-repeats"}
    assert not any(name.startswith("reading-") for name in names)
    assert {c.id for c in CLAIMS if c.ours} == OURS
    assert not any(c.counted for c in CLAIMS if c.ours)


def test_every_border_says_where_it_comes_from() -> None:
    """A tolerance has its reason; what repeats a claim names one that is there, and is expected where that one is."""
    own = {c.id for c in CLAIMS if c.expect and re.search("within|between", c.expect) and not c.because}
    assert own == set()
    known = {c.id: c for c in CLAIMS}
    for copy in (c for c in CLAIMS if c.copy_of):
        assert known[copy.copy_of].expect == copy.expect, copy.id
    of_the_mean_row = [c for c in CLAIMS if c.paper == "gs" and re.search("gs_mean|mean_row", c.measure)]
    of_the_mean_row = [c for c in of_the_mean_row if "printed" not in c.measure]  # which is over both factors
    assert {c.copy_of for c in of_the_mean_row} == {c.copy_of for c in CLAIMS if c.paper == "gs" and c.copy_of}
    assert all(c.copy_of for c in of_the_mean_row)
    # In analytics, where GS was its authors' code, the mean row comes first and the printed factor is the copy.
    printed = [c for c in CLAIMS if c.paper == "analytics" and "mechanism=gs)" in c.measure]
    assert printed
    assert all(c.copy_of for c in printed)


def test_errata_that_need_no_run_are_contradicted() -> None:
    judge = Judge(Path("nowhere"))
    found = [judge.verdict(c) for c in CLAIMS if c.basis == "erratum" and not c.experiment and not c.untestable]
    assert found
    assert {v.claim.id: v.verdict for v in found if v.verdict != CONTRADICTED} == {}


baselines = functools.cache(utility.load)


@functools.cache
def smoke(experiment: str) -> list[CellTrials]:
    """The cells of an experiment as the baselines hold them, without times."""
    numbers = baselines(BASELINES).get(experiment)
    if numbers is None:
        return []
    rows = []
    for key, cell in numbers.cells.items():
        columns = {name: values for name, values in cell.values.items() if name not in PAIRS}
        for i in range(len(next(iter(columns.values())))):
            found = {name if "." in name else f"metric.{name}": values[i] for name, values in columns.items()}
            rows.append({**cell.labels, "setting": key, "trial": i, **found})
    return cells_of(pd.DataFrame(rows).assign(seconds=1.0))


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.experiment and not c.untestable], ids=lambda c: c.id)
def test_every_measure_finds_its_numbers(claim: Claim) -> None:
    """On the baselines, whatever the scale that the claim itself asks for. Times are not among them."""
    if "seconds" in claim.measure:
        pytest.skip("measures what the baselines do not keep")
    if not (cells := smoke(claim.experiment)):
        pytest.skip(f"{claim.experiment} has no baseline")
    judge = Stored(cells)
    original = runs.dataset(claim.original or "none", original=True)
    judge.runs = {claim.experiment: run(claim.experiment, [original], scale="paper")}
    judge._cells = {claim.experiment: cells}
    found: Verdict = judge.verdict(claim)
    if claim.scale != "smoke" and found.reason.startswith(("no metric", "no trials of part")):
        pytest.skip(f"smoke scale is too small: {found.reason}")
    assert found.verdict != UNTESTABLE, found.reason
    assert found.decider is not None


def test_the_verb(dpbench: Call, tmp_path: Path) -> None:
    """Verdicts of any kind end in status 0; what is missing is said with its command."""
    done = dpbench("claims", "gs")
    assert done.returncode == 0, done.stderr
    assert "gs/fig9 was not run" in done.stdout
    assert "Run them: python -m dpbench claims gs --run" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 400, "one line per claim"
    done = dpbench("claims", "gs/gs-beats-lpa")
    assert "python -m dpbench run experiment=gs/fig9" in done.stdout
    words = (
        "run",
        "experiment=gs/fig9",
        "scale=smoke",
        "dataset=[trajectory]",
        "mechanism=[lpa,gs]",
        "tracking=none",
        "figure=false",
    )
    assert dpbench(*words).returncode == 0
    done = dpbench("claims", "gs", "--scale", "smoke")
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if "gs/erratum-laplace-mean" in line)
    assert "contradicted" in row
    assert done.stdout.index("contradicted") < done.stdout.index("gs/erratum-laplace-mean")
    for words, message in (
        (("gss",), "unknown paper 'gss': did you mean 'gs'?"),
        (("gs/lema-1",), "unknown claim 'gs/lema-1': did you mean 'gs/lemma-1'?"),
        (("--verdict", "contradict"), "unknown verdict 'contradict': did you mean 'contradicted'?"),
        (("--find", "xyzzy"), "--find xyzzy: no claim has this word"),
    ):
        wrong = dpbench("claims", *words)
        assert (wrong.returncode, wrong.stderr) == (2, f"dpbench: {message}\n")
    done = dpbench("claims", "gs", "--find", "formula", "--verdict", "reproduced", "--json", "found/claims.json")
    assert "gs/formula-16" in done.stdout
    assert "gs/erratum-formula-18" not in done.stdout, "it is contradicted"
    found = {entry["claim"]: entry for entry in json.loads((tmp_path / "found" / "claims.json").read_text())}
    assert found["gs/formula-16"]["verdict"] == "reproduced"
    assert found["gs/formula-16"]["value"] == 1


def test_one_verdict_can_be_followed_and_claims_selected(dpbench: Call) -> None:
    """With the paper alone: what it says and where, what was tried, and the command that repeats it."""
    done = dpbench("claims", "--id", "gs/gs-beats-lpa")
    assert done.returncode == 0, done.stderr
    for words in ("GS has a lower MAE than LPA", "Section 5, Figure 9", "expected", "verdict", "repeat"):
        assert words in done.stdout
    assert "python -m dpbench run experiment=gs/fig9" in done.stdout
    done = dpbench("claims", "gs", "--evidence", "proof", "--json")
    found = json.loads(done.stdout)
    assert {entry["evidence"] for entry in found} == {"proof"}
    assert "gs/lemma-1" in {entry["claim"] for entry in found}
    for words, message in (
        (("--evidence", "prof"), "unknown evidence 'prof': did you mean 'proof'?"),
        (("epicrec", "--world", "nowhere"), "--world nowhere: no claim was judged in it"),
    ):
        wrong = dpbench("claims", *words)
        assert wrong.returncode == 2
        assert message in wrong.stderr


@pytest.mark.parametrize("width", [60, 80, 100, 170])
def test_every_claim_is_readable_at_any_width(width: int) -> None:
    """No column is too narrow for its words, and a contradiction comes with its note."""
    from rich.console import Console

    from dpbench.cli.claims_show import followed

    judge = Stored(ratio_cells({"good": 0.2, "bad": 1.5}, 0.05))
    found = [
        judge.verdict(claim(each=("dataset",), note="GS [as] printed", **RATIO)),
        judge.verdict(claim(experiment="", measure="1 + 1", expect="= 2")),
        judge.verdict(claim(untestable="the figure is lost", note="never shown")),
    ]
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(*map(followed, found))
    text = console.export_text()
    for words in ("contradicted", "dataset=bad", "reproduced", "not testable", "GS [as] printed", "the figure is lost"):
        assert words in text
    assert re.search("measure +1 \\+ 1", text), "a number without its formula says little"
    assert "arithmetic" in text
    assert "never shown" not in text
    assert max(map(len, text.splitlines())) <= width


def test_run_makes_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dpbench.cli import claims as verb
    from dpbench.engine import execute, plan

    ran = []
    monkeypatch.setattr(plan, "plan_experiment", lambda name, **options: (name, options["scale"]))
    monkeypatch.setattr(execute, "execute", lambda plans, _: iter(ran.extend(plans) or ()))
    assert verb.main(["gs", "--run", "--results", str(tmp_path)]) == 0
    assert set(ran) == {(e, "laptop") for e in {c.experiment for c in CLAIMS if c.paper == "gs"} - {""}}


def test_an_own_claim_of_an_unknown_experiment_is_refused(dpbench, tmp_path):
    claims = tmp_path / "conf/claims"
    claims.mkdir(parents=True)
    text = "helps: {place: ours, says: it helps, experiment: gs/fig99, measure: mae(mechanism=gs), expect: '< 1'}\n"
    (claims / "mine.yaml").write_text(text)
    done = dpbench("claims", "mine")
    assert done.returncode == 2
    assert "claim mine/helps: unknown experiment 'gs/fig99': did you mean 'gs/fig9'?" in done.stderr
