"""Every file of ours that runs in a trial is part of the trial's code: traced for every mechanism, task and source."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpbench.mechanisms.base as mechanism_base
from dpbench.code_reader import EXEMPT
from dpbench.identity import Code, code_of, setting_code
from dpbench.mechanisms.base import MECHANISMS
from dpbench.mechanisms.gs import grouping
from dpbench.mechanisms.peers.base import missing
from dpbench.sources.base import SOURCES
from dpbench.tasks.base import TASKS

from support.examples import EXAMPLES, VARIANTS, example_of
from support.formats import GOOD
from support.paths import ROOT
from support.tracing import files_that_run

CHECK_INS = {"users": 60, "items": 20, "records": 900, "largest": 60}
SMALL: dict[str, dict[str, Any]] = {
    "check_ins": {**CHECK_INS, "median": 12, "skew": 0.7},
    "gowalla": CHECK_INS,
    "foursquare": CHECK_INS,
    "ratings": {"users": 151, "items": 300, "records": 6250, "largest": 190, "smallest": 10, "median": 28},
    "gaussian": {"cells": 500},
    "commuting": {"locations": 150, "largest": 5000},
    "cube": {"shape": "9x8x4", "density": 0.1, "largest": 50, "zipf": 1.0},
    "incidence": {"rows": 50, "columns": 20, "largest": 9, "average": 5, "top": 0.5},
    "catalogue": {"items": 100, "users": 10, "largest": 30},
    "running_example": {},
    "grouping_example": {},
    "equal_rows": {"rows": 40, "columns": 30, "size": 5},
}


def uncovered(ran: set[str], code: Code) -> set[str]:
    exempt = {name for name in ran if any(name == e or name.startswith(f"{e}.") for e in EXEMPT)}
    return ran - exempt - set(code.modules)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def trials() -> Iterator[Any]:
    for name, cls in MECHANISMS.items():
        for kind in cls.kinds:
            for parameters in VARIANTS.get(name, [{}]):
                words = "-".join([name, kind, *(f"{key}={value}" for key, value in parameters.items())])
                yield pytest.param(name, kind, parameters, id=words)


def small(task: Any) -> Any:
    """The task with few queries: the same files run."""
    return task(queries=5) if "queries" in {field.name for field in dataclasses.fields(task)} else task()


@pytest.mark.parametrize(("name", "kind", "parameters"), list(trials()))
def test_releases_and_scores(name: str, kind: str, parameters: dict[str, Any]) -> None:
    """On data of its own, made anew, under every task that fits."""
    scored = 0
    for task_class in (cls for _, cls in TASKS.items() if kind in cls.kinds):
        with files_that_run() as ran:
            data = example_of(name, kind).data()
            mechanism, task = MECHANISMS.make(name, **parameters), small(task_class)
            assert not mechanism.unfit(data)
            mechanism.not_private()
            release = mechanism.release(data, epsilon=1.0, rng=rng())
            with contextlib.suppress(Exception):  # a task may want another form of release than a list of the largest
                task.score(data, release, rng())
                task.errors(data, release)
                scored += 1
        assert type(mechanism).__module__ in ran
        assert not uncovered(ran, setting_code(type(data), type(mechanism), type(task)))
    assert scored


GENERATORS = [name for name, cls in SOURCES.items() if "path" not in cls.__dataclass_fields__ and name != "given"]


@pytest.mark.parametrize("name", GENERATORS)
def test_generators(name: str) -> None:
    cls = SOURCES.get(name)
    for kind in cls.kinds if "kind" in cls.__dataclass_fields__ else [None]:
        source = SOURCES.make(name, **SMALL[name], **({} if kind is None else {"kind": kind}))
        with files_that_run() as ran:
            source.build(rng()).statistics()
        assert ran
        assert not uncovered(ran, code_of(cls))


def movielens(folder: Path) -> None:
    rest = "|01-Jan-1995||http://x|" + "|".join("0" * 19)
    files = {
        "u.item": f"1|Toy Story (1995){rest}\n5|Casino{rest}\n",
        "u.user": "1|24|M|technician|85711\n2|25|F|other|94043\n",
        "u.data": "1\t5\t1\t881250949\n2\t1\t5\t0\n",
        "movies.dat": "1::Toy Story (1995)::Animation|Comedy\n5::Casino (1995)::Drama\n",
        "users.dat": "1::F::1::10::48067\n2::M::56::16::70072\n",
        "ratings.dat": "1::5::5::978300760\n2::1::3::978302109\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("options", [{}, {"context": "c"}, {"cell": "item,c", "count": "n"}], ids=str)
def test_own_tables(options: dict[str, str], tmp_path: Path) -> None:
    """Good and bad lines: both ways of reading take part."""
    cls = SOURCES.get("table")
    for text in ("user,item,c,n\na,x,m,1\n", "user,item,c,n\na,x,m,1\nb\n"):
        (tmp_path / "a.csv").write_text(text)
        source = SOURCES.make("table", path=str(tmp_path / "a.csv"), on_bad_line="skip", **options)
        with files_that_run() as ran, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source.build(rng()).statistics()
        assert "dpbench.sources.readers.own_table" in ran
        assert not uncovered(ran, code_of(cls))


@pytest.mark.parametrize(
    "name", [name for name, cls in SOURCES.items() if "path" in cls.__dataclass_fields__ and name != "table"]
)
def test_readers(name: str, tmp_path: Path) -> None:
    path = tmp_path
    if name in GOOD:
        path = tmp_path / "file.txt"
        path.write_bytes(GOOD[name].encode("latin-1"))
    elif name.startswith("movielens"):
        movielens(tmp_path)
    else:
        pytest.skip(f"tests/support/formats.py has no small file for {name}")
    cls = SOURCES.get(name)
    for kind in cls.kinds if "kind" in cls.__dataclass_fields__ else [None]:
        source = SOURCES.make(name, path=str(path), **({} if kind is None else {"kind": kind}))
        with files_that_run() as ran:
            source.build(rng()).statistics()
        assert ran
        assert not uncovered(ran, code_of(cls))


DRIVER = """
import json, os, sys
from dpbench.cli import main
from support import warm
from support.tracing import files_that_run
from dpbench.engine import worker
from dpbench.mechanisms.base import MECHANISMS
from dpbench.mechanisms.gs import grouping
from dpbench.sources.base import SOURCES
from dpbench.tasks.base import TASKS

SOURCES.names(), MECHANISMS.names(), TASKS.names()
run, traced = worker.run_chunk, []

def note(chunk):
    with files_that_run() as names:
        outcome = run(chunk)
    assert outcome.rows, (outcome.refused, outcome.failures)
    traced.append([sorted(names), dict(worker.code_of(chunk).modules)])
    return outcome

worker.run_chunk = note
warm.load()  # once, not in every case
for case, words in json.loads(sys.argv[1]).items():
    if not (child := os.fork()):
        exec(words) if isinstance(words, str) else (main(words) and sys.exit(1))
        open(f"{case}.json", "w").write(json.dumps(traced))
        sys.exit()
    os.waitpid(child, 0)
"""
PROGRAM = """
import dpbench
from support.examples import EXAMPLES
kinds = {"incidence": "lpa", "records": "hpa", "contingency": "geometric", "catalogue": "s_dpdp"}
for kind, mechanism in kinds.items():
    dpbench.run(
        dataset=[EXAMPLES[kind].data()], mechanism=[mechanism], epsilon=[1], trials=2, runner={"jobs": 1}, tracking="none"
    )
"""


Traced = list[tuple[set[str], Code]]


IN_WORKERS = {
    "gs": (["dataset=[trajectory]", "mechanism=[gs]"], "dpbench.mechanisms.gs._grouping"),
    "facts": (["dataset=[trajectory]", "mechanism=[fpa]"], "dpbench.sources.facts"),
    "records": (["dataset=[gowalla]", "mechanism=[hpa]"], "dpbench.data.records"),
    "tables": (["dataset=[gaussian]", "mechanism=[filter]"], "dpbench.data.contingency"),
    "catalogue": (["dataset=[catalogue]", "mechanism=[s_dpdp]"], "dpbench.data.catalogue"),
    "own table": (["dataset=[table]", "dataset.table.path=a.csv", "mechanism=[lpa]"], "dpbench.data.labels"),
    "exact noise": (["dataset=[trajectory]", "mechanism=[lpa]", "noise=exact"], "dpbench.privacy.exact"),
    "opendp": (["dataset=[trajectory]", "mechanism=[opendp_laplace]"], "dpbench.mechanisms.peers.opendp"),
    "diffprivlib": (
        ["dataset=[trajectory]", "mechanism=[diffprivlib_laplace]"],
        "dpbench.mechanisms.peers.diffprivlib",
    ),
}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Traced]:
    """What ran in the chunks of each case, and the code of its trials: a process for each, forked from one that has the
    modules loaded and nothing else."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "a.csv").write_text("user,item\na,x\na,y\nb,x\n")
    few = ["scale=smoke", "trials=2", "epsilon=[1]", "runner.jobs=1", "tracking=none", "figure=false"]
    there = {case: (words, part) for case, (words, part) in IN_WORKERS.items() if not lacking(case, part)}
    cases: dict[str, Any] = {
        case: ["run", *words, *few, f"results={number}"] for number, (case, (words, _)) in enumerate(there.items())
    }
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    command = [sys.executable, "-c", DRIVER, json.dumps(cases | {"program": PROGRAM})]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)

    def look(case: str) -> Traced:
        path = folder / f"{case}.json"
        assert path.is_file(), done.stdout + done.stderr
        return [(set(ran), Code("", modules, {}, True)) for ran, modules in json.loads(path.read_text())]

    return look


def lacking(case: str, part: str) -> str:
    return missing(case) if part.startswith("dpbench.mechanisms.peers") else ""


@pytest.mark.parametrize("case", IN_WORKERS)
def test_a_chunk_in_a_worker(case: str, traced: Callable[[str], Traced]) -> None:
    """The worker's own code, which opens the data, seeds and measures; data that come from the cache, and peers."""
    _, expected = IN_WORKERS[case]
    if reason := lacking(case, expected):
        pytest.skip(reason)
    found = traced(case)
    assert {"dpbench.engine.worker", "dpbench.sources.cache", expected} <= set.union(*(ran for ran, _ in found))
    for ran, code in found:
        assert not uncovered(ran, code)


def test_objects_of_a_program(traced: Callable[[str], Traced]) -> None:
    """Data of every kind that `dpbench.run` was given: no source builds them, and their code counts all the same."""
    found = traced("program")
    assert len(found) == 4
    for ran, code in found:
        assert "dpbench.sources.given" in code.modules
        assert not uncovered(ran, code)


def test_the_trace_finds_what_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two plants: a helper of another family, and a code that leaves out a file."""
    lpa, counts, data = MECHANISMS.get("lpa"), TASKS.get("column_counts"), EXAMPLES["incidence"].data()
    code = setting_code(type(data), lpa, counts)
    parse = mechanism_base.parse_epsilon

    def helped(epsilon: object) -> float:
        grouping.filled_rows(data)
        return parse(epsilon)

    with files_that_run() as ran:
        release = lpa().release(data, epsilon=1.0, rng=rng())
        counts().score(data, release, rng())
    assert not uncovered(ran, code)
    blind = {name: value for name, value in code.modules.items() if name != "dpbench.data.incidence"}
    assert uncovered(ran, Code("", blind, {}, True)) == {"dpbench.data.incidence"}
    monkeypatch.setattr(mechanism_base, "parse_epsilon", helped)
    with files_that_run() as ran:
        lpa().release(data, epsilon=1.0, rng=rng())
    assert uncovered(ran, code) == {"dpbench.mechanisms.gs.grouping"}


def test_the_trace_sees_kernels_every_time() -> None:
    """Compiled or not, called by name or through their module."""
    for _ in range(2):
        with files_that_run() as ran:
            MECHANISMS.make("hpa").release(EXAMPLES["records"].data(), epsilon=1.0, rng=rng())
        assert "dpbench.mechanisms.analytics._samples" in ran


def test_the_worker_needs_no_configuration() -> None:
    """Neither the command line nor Hydra takes part in a trial: a new option there computes nothing again."""
    code = setting_code(SOURCES.get("incidence"), MECHANISMS.get("lpa"), TASKS.get("column_counts"))
    rooms = {name.split(".")[1] for name in code.modules}
    assert not rooms & {"cli", "config", "figures", "report", "claims", "check", "compare"}
    assert not {"hydra-core", "omegaconf", "mlflow", "matplotlib", "rich"} & set(code.distributions)
