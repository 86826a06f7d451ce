"""What a release needs: one version everywhere, a date for it, and files that other programs can read."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

import dpbench

from support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_one_version_with_a_date() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert PROJECT["version"] == dpbench.__version__ == citation["version"]
    dated = re.findall(r"^## (\S+) \((\d{4}-\d{2}-\d{2})\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert dated[0] == (dpbench.__version__, str(citation["date-released"]))


def test_every_link_is_under_one_address() -> None:
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= {*PROJECT["urls"]}
    assert all(url.startswith(PROJECT["urls"]["Homepage"]) for url in PROJECT["urls"].values())


@pytest.mark.parametrize("name", [".pre-commit-config.yaml", ".github/workflows/release.yml"])
def test_files_of_other_programs(name: str) -> None:
    assert yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_a_commit_is_asked_what_lint_is_asked() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lint = re.findall(r"^\t\$\(BIN\)/(.+)$", makefile.partition("\nlint:")[2].partition("\n\n")[0], re.M)
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    entries = [hook["entry"].removeprefix(".venv/bin/").replace(" --force-exclude", "") for hook in hooks]
    assert entries == [command.removesuffix(" .").replace("format --check .", "format --check") for command in lint]
