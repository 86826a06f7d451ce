"""`reproduce` on the command line: runs a paper, compares with the record, writes the bundle of an artifact."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile

import pandas as pd
import pytest
import yaml

from dpbench.cli import main
from dpbench.cli import reproduce as verb
from dpbench.errors import UserError
from dpbench.model.claim import VERDICTS
from dpbench.reproduce import artifact
from dpbench.reproduce.carry_out import carry_out, experiments_of, plans_of, plans_on_files
from dpbench.reproduce.costs import Meter, memory_of
from dpbench.storage.record import read, write

from support.door import dpbench

EXPERIMENT = "epicrec/example"
SMALL_MOVIELENS = {
    "users.dat": "1::M::18::0::00000\n2::F::25::0::00000\n",
    "movies.dat": "1::Inn (1990)::Drama\n2::Zoo (1991)::Comedy\n",
    "ratings.dat": "1::1::5::1\n1::2::4::1\n2::1::3::1\n",
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    return folder, dpbench("reproduce", EXPERIMENT, "--scale", "smoke", "--artifact", "bundle", cwd=folder)


def test_it_runs_draws_judges_and_reports(done):
    folder, found = done
    assert found.returncode == 0, found.stderr
    assert f"{EXPERIMENT}: " in found.stdout
    assert "reproduced" in found.stdout
    assert f"{EXPERIMENT} in " in found.stdout
    assert (folder / "results" / "report.html").is_file()
    assert (folder / "results" / "figures" / f"{EXPERIMENT}.png").is_file()


def test_the_bundle_has_what_a_reviewer_asks_for(done):
    folder, _ = done
    bundle = folder / "bundle"
    for name in ("README.md", "APPENDIX.md", "DATA.md", "ENVIRONMENT.md", "Dockerfile", "requirements.lock"):
        assert (bundle / name).stat().st_size > 100, name
    appendix = (bundle / "APPENDIX.md").read_text()
    assert f"python -m dpbench reproduce {EXPERIMENT} --scale smoke" in appendix
    assert "epicrec/" in appendix
    assert "not on record at this scale" in appendix, "what paper size costs says nothing about smoke scale"
    assert "numpy==" in (bundle / "requirements.lock").read_text()
    assert yaml.safe_load((bundle / "CITATION.cff").read_text())["cff-version"] == "1.2.0"
    pdf = (bundle / "figures" / "epicrec-example.pdf").read_bytes()
    assert b"/Type3" not in pdf
    assert "\\toprule" in (bundle / "tables" / "epicrec-example.tex").read_text()


def test_every_claim_of_the_appendix_has_its_verdict(done):
    """Also those that an audit or a computation decides."""
    folder, _ = done
    rows = (folder / "bundle" / "APPENDIX.md").read_text().split("## Claims")[1].splitlines()
    cells = [row.strip("| ").split(" | ") for row in rows if row.startswith("| epicrec/")]
    verdicts = {first: last for first, *_, last in cells}
    assert verdicts["epicrec/theorem-2"] == "reproduced"
    assert verdicts["epicrec/example-1"] == "by construction"
    assert {*verdicts.values()} <= {*VERDICTS}


def test_a_bundle_names_what_was_asked_for():
    everything = experiments_of(["epicrec", "gs"])
    assert artifact._together(everything) == ["epicrec", "gs"]
    assert artifact._together([EXPERIMENT, *experiments_of(["gs"])]) == [EXPERIMENT, "gs"]


def test_the_source_is_that_of_the_commit(tmp_path, monkeypatch):
    """Its first folder holds pyproject.toml, so that pip can install the file."""
    from dpbench.model.environment import Environment

    if not Environment.here().commit:
        pytest.skip("no checkout")
    monkeypatch.setattr(artifact, "differs", lambda: True)
    assert artifact.write_source(tmp_path) is None, "local changes are in no commit"
    monkeypatch.setattr(artifact, "differs", lambda: False)
    path = artifact.write_source(tmp_path)
    with tarfile.open(path) as archive:
        names = archive.getnames()
    assert f"{path.name.removesuffix('.tar.gz')}/pyproject.toml" in names
    assert len(names) > 500
    wheel = artifact.write_wheel(tmp_path, path)
    assert wheel is not None
    assert "dpbench/__init__.py" in zipfile.ZipFile(wheel).namelist()


def test_what_cannot_be_reproduced_is_listed_with_its_reason(done):
    folder, _ = done
    claims, listed = (folder / "bundle" / "APPENDIX.md").read_text().split("## Not reproducible, and why")
    untestable = [row.split(" | ")[0].strip("| ") for row in claims.splitlines() if row.endswith("| not testable |")]
    assert [line.partition(":")[0].strip("- ") for line in listed.splitlines() if line.startswith("- ")] == untestable
    assert untestable or "None." in listed


def test_tables_of_the_appendix_have_as_many_cells_as_heads(done):
    folder, _ = done
    width = 0
    for line in (folder / "bundle" / "APPENDIX.md").read_text().splitlines():
        cells = line.replace("\\|", "").count("|") if line.startswith("|") else 0
        assert cells in (0, width) or width == 0, line
        width = cells


def test_nonsense_is_wrong_use(tmp_path):
    found = dpbench("reproduce", "gss", cwd=tmp_path)
    assert found.returncode == 2
    assert "did you mean 'gs'" in found.stderr


def test_a_paper_is_all_its_experiments():
    assert {name.partition("/")[0] for name in experiments_of([])} == {
        "gs",
        "sparse",
        "analytics",
        "sensitivity",
        "epicrec",
    }
    assert experiments_of(["epicrec/example", "epicrec"])[0] == "epicrec/example"
    assert len(experiments_of(["epicrec/example", "epicrec"])) == len(experiments_of(["epicrec"]))


def test_the_meter_sees_memory_and_forgets_it():
    with Meter() as meter:
        before = meter.peak()
        held = bytearray(80_000_000)
        assert meter.peak() - before > 60_000_000
        del held
        assert meter.peak() - before < 60_000_000


def test_memory_counts_children():
    program = "import sys; held = bytearray(80_000_000); print('ready', flush=True); sys.stdin.read()"
    own = memory_of(__import__("os").getpid())
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    try:
        assert memory_of(__import__("os").getpid()) - own > 60_000_000
    finally:
        child.communicate(b"")


def test_the_lock_names_what_is_needed_and_nothing_of_the_tests():
    found = artifact.locked()
    assert "numpy" in found
    assert "pytest" not in found
    assert "dpbench-repro" not in found


def test_the_citation_of_the_checkout_is_the_same():
    from dpbench.paths import PACKAGE

    path = PACKAGE.parent / "CITATION.cff"
    if not path.is_file():
        pytest.skip("no checkout")
    template = artifact._templates().get_template("CITATION.cff.j2")
    assert path.read_text() == template.render(version=artifact.__version__, released=artifact.RELEASED)


@pytest.fixture
def with_record(tmp_path, monkeypatch, capsys):
    """The front door in this process, with a record of one's own, so that the one of the checkout stays as it is."""
    folder = tmp_path / "record"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verb, "RECORD", folder)
    monkeypatch.setattr(verb, "read", lambda name: read(name, folder))

    def call(*words):
        status = main([*words])
        return subprocess.CompletedProcess(words, status, *capsys.readouterr())

    return call


def test_what_is_put_on_record_is_compared_by_the_next_run(with_record, tmp_path):
    words = ("reproduce", EXPERIMENT, "--scale", "smoke")
    assert with_record(*words, "--record").returncode == 0
    found = with_record(*words)
    assert found.returncode == 0, found.stdout
    assert "0 differ" in found.stdout
    (stored,) = (tmp_path / "record").glob("**/*.json")
    assert json.loads(stored.read_text())["experiment"] == EXPERIMENT


def test_the_papers_own_files_are_evidence_where_they_are_here(tmp_path, monkeypatch):
    """The run on the files is planned beside the one on generated data, and only the latter is recorded by itself."""
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "downloads" / "movielens"
    folder.mkdir(parents=True)
    for name, text in SMALL_MOVIELENS.items():
        (folder / name).write_text(text, encoding="latin-1")
    facts = {"scale": "smoke", "results": tmp_path / "results", "jobs": 1, "overrides": {}, "say": lambda _: None}
    plans = list(plans_of(["analytics/table4"], **facts))
    on_files = list(plans_on_files(["analytics/table4"], **facts))
    assert not [str(plan) for plan in (*plans, *on_files) if isinstance(plan, UserError)]
    assert [plan.run.original_datasets for plan in (*plans, *on_files)] == [(), ("movielens",)]
    done = list(carry_out(plans, evidence=on_files))
    assert [(one.run.original_datasets, one.record is None, one.problem) for one in done] == [
        (("movielens",), True, ""),
        ((), False, ""),
    ]
    about_sizes = [one for one in done[1].record.verdicts if one.claim == "analytics/movielens-size"]
    assert about_sizes[0].files == ("movielens",)
    assert about_sizes[0].verdict == "contradicted", "the files made here are far too small"


def test_other_noise_is_compared_with_the_record(with_record, tmp_path):
    """It passes; a record that is far too high fails, with the numbers that differ."""
    noisy = "epicrec/error"
    again = ("reproduce", noisy, "--scale", "smoke", "--seed", "3")
    assert with_record("reproduce", noisy, "--scale", "smoke", "--record").returncode == 0
    found = with_record(*again)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "tested jointly at 1 %" in found.stdout

    numbers = pd.read_csv(tmp_path / "record" / f"{noisy}.csv")
    numbers["mae"] *= 5
    record = read(noisy, tmp_path / "record")
    write(record, numbers, tmp_path / "record")
    found = with_record(*again)
    assert found.returncode == 1
    assert "Differs from the record" in found.stdout
