"""Runs on a real Slurm of one node: a job array of shards, and workers that are jobs. In both, a job is killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from support.cluster import RUN, stored, until, user_folder
from support.door import dpbench
from support.paths import ROOT
from support.slurm import Slurm, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "Slurm is here")

Call = Callable[..., "subprocess.CompletedProcess[str]"]
WORDS = (*RUN, "mechanism=[slow,lpa]", "trials=500", "runner.chunk=10")
TRIALS = 1000
SCRIPT = str(ROOT / "docs" / "slurm" / "array.sh")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    try:
        made = Slurm(tmp_path_factory.mktemp("slurm"))
    except AssertionError as problem:
        pytest.skip(f"Slurm does not start here: {str(problem)[-2000:]}")
    yield made
    made.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return user_folder(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def plain(home: Path) -> pd.DataFrame:
    """The numbers of a plain run."""
    dpbench(*WORDS, "runner.jobs=1", "results=plain", cwd=home).check_returncode()
    return stored(home / "plain")


def files(results: Path) -> int:
    return len(list(results.glob("trials/**/*.parquet")))


@pytest.mark.slow
def test_a_job_array_of_shards_with_a_killed_job(slurm: Slurm, home: Path, plain: pd.DataFrame) -> None:
    place = {"PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    submit = ("sbatch", "--parsable")
    words = (SCRIPT, *(word for word in WORDS if word != "run"), "results=array")
    job = slurm.call(*submit, "--array=1-3", *words, cwd=home, **place).strip()
    until(lambda: files(home / "array") >= 3, "a first result")
    slurm.call("scancel", f"{job}_2")
    slurm.until_over()
    output = {task: (home / f"dpbench-{job}_{task}.out").read_text() for task in (1, 2, 3)}
    assert "dpbench: interrupted; finished trials are kept" in output[2]
    assert len(stored(home / "array")) < TRIALS
    again = slurm.call(*submit, "--array=2", *words, cwd=home, PARTS="3", **place).strip()
    slurm.until_over()
    told = (home / f"dpbench-{again}_2.out").read_text()
    assert f"{TRIALS} of {TRIALS} trials of the run are stored" in told
    pd.testing.assert_frame_equal(stored(home / "array"), plain, check_exact=True)


def test_workers_that_are_jobs_of_which_one_is_killed(slurm: Slurm, home: Path, plain: pd.DataFrame) -> None:
    """The job is replaced, and its chunks are sent again."""
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    runner = ("runner=slurm", "runner.jobs=3", "runner.queue=other", "runner.interface=lo", "runner.memory=1")
    extra = ("runner.walltime=00:10:00", 'runner.directives=["--comment=mine"]', "results=jobs")
    run = subprocess.Popen(
        [sys.executable, "-m", "dpbench", *WORDS, *runner, *extra],
        cwd=home,
        env=os.environ | slurm.environment | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: files(home / "jobs") >= 3, "a first result")
        job = min(slurm.jobs(), key=int)
        about = slurm.call("scontrol", "show", "job", job)
        for words in ("Partition=other", "TimeLimit=00:10:00", "NumCPUs=1", "Comment=mine", "MinMemoryNode=1.50G"):
            assert words in about
        slurm.call("scancel", job)
        out, err = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 0, err
    assert f"{TRIALS} trials computed, 0 found finished, 0 failed" in out
    assert f"of Slurm job {job} is gone" in err
    pd.testing.assert_frame_equal(stored(home / "jobs"), plain, check_exact=True)
    assert {*slurm.jobs().values()} <= {"COMPLETING"}, "the jobs end with the run"


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["slurm", "dask"])
def test_a_cluster_of_our_own_uses_the_certificates_of_dasks_settings(
    slurm: Slurm, home: Path, plain: pd.DataFrame, tmp_path: Path, runner: str
) -> None:
    """Its address is one of TLS, and the numbers are the same. `distributed.comm.require-encryption` is not needed."""
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=dpbench"]
    subprocess.run([*make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    settings = {f"{tls}CA_FILE": str(certificate)}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        settings |= {f"{tls}{role}__CERT": str(certificate), f"{tls}{role}__KEY": str(key)}
    code = "import runpy, sys\nimport distributed\n"
    code += "made = distributed.Client.__init__\n"
    code += "def noted(self, target, **more):\n    made(self, target, **more)\n"
    code += "    print('address', self.scheduler.address, file=sys.stderr)\n"
    code += "distributed.Client.__init__ = noted\nsys.argv = ['dpbench', *sys.argv[1:]]\n"
    code += "runpy.run_module('dpbench', run_name='__main__', alter_sys=True)\n"
    words = (*RUN, "mechanism=[slow,lpa]", "trials=40", "runner.chunk=10", f"runner={runner}", "runner.jobs=2")
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *words, f"results={runner}-tls"],
        cwd=home,
        env=os.environ | slurm.environment | settings | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "80 trials computed, 0 found finished, 0 failed" in done.stdout
    assert "address tls://127.0.0.1:" in done.stderr
    found = stored(home / f"{runner}-tls")
    wanted = plain[plain["trial"] < 40].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, wanted, check_exact=True)


def test_what_slurm_does_not_take_is_told(
    slurm: Slurm, home: Path, dpbench: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    done = dpbench(*WORDS, "runner=slurm", "runner.queue=nowhere", "runner.interface=lo", "results=none", cwd=home)
    assert done.returncode == 1
    assert "Slurm rejects the jobs of this run: invalid partition specified: nowhere" in done.stderr
