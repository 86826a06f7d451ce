"""The commit that a run and a record name: with a plus if the code was changed, and not if only results were."""

from __future__ import annotations

import subprocess

import pytest

from dpbench.model import environment


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout of its own, with one file of code and one of the record."""
    for name in ("dpbench/code.py", "results/record/gs/fig7.csv"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("1\n")
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    monkeypatch.setattr(environment, "PACKAGE", tmp_path / "dpbench")
    return tmp_path


def commit() -> str:
    return environment._commit.__wrapped__()


def test_the_commit_of_unchanged_files(checkout):
    assert len(commit()) == 12
    assert not environment.differs()


def test_changed_code_is_told(checkout):
    (checkout / "dpbench" / "code.py").write_text("2\n")
    assert commit().endswith("+")


def test_what_a_run_writes_is_no_change_of_the_code(checkout):
    """Papers that are recorded one after the other, and committed later, all name the commit of their code."""
    (checkout / "results" / "record" / "gs" / "fig7.csv").write_text("2\n")
    assert len(commit()) == 12
    assert environment.differs(), "an archive of the commit would not have the new record"


def test_without_a_checkout_there_is_none(checkout, monkeypatch):
    monkeypatch.setattr(environment, "PACKAGE", checkout / "dpbench" / "elsewhere")
    assert commit() == ""


def test_without_git_there_is_none(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert commit() == ""
