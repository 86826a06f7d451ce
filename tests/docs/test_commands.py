"""What the pages of the site tell readers to type works. The cells of the tutorials run in `make docs` and in tests/roles."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.tutorials import DOCS, sources

Call = Callable[..., "subprocess.CompletedProcess[str]"]
PAGES = sorted([DOCS / "start.md", *DOCS.glob("howto/*.md"), *DOCS.glob("concepts/*.md")])
ELSEWHERE = {
    "data get movielens": "needs the network",
    "run experiment=analytics/fig7 dataset.movielens.source=files": "needs what was fetched",
    "run experiment=cross/real dataset.movielens.path=FOLDER": "needs a folder of the reader",
    "compare opendp_geometric": "a minute; tests/peers has the class, tests/roles the verb",
}
"""Commands that are not run here, each with the reason."""


def commands(page: Path) -> list[str]:
    """What a page has readers type, as blocks of their own."""
    return re.findall(r"^    python -m dpbench (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)


def python(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def quick(command: str) -> list[str]:
    """The same command on few pairs and without MLflow. A run that other tests compute anyway is only planned here."""
    words = shlex.split(command)
    if words[0] == "audit":
        return [*words, "--pairs", "5", "--seconds", "5"]
    return [*words, "tracking=none", "dry=true"] if words[0] == "run" else words


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_commands(page: Path, dpbench: Call, tmp_path: Path) -> None:
    """In the order given, in a folder with the class of the tutorial and the files that the page shows."""
    (mine,) = [code for code in sources("compare") if code.startswith("%%writefile mine.py\n")]
    (tmp_path / "mine.py").write_text(mine.partition("\n")[2])
    for name, shown in re.findall(r"^```yaml\n# (conf/\S+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(shown)
    for command in commands(page):
        if command in ELSEWHERE:
            continue
        words = quick(command)
        if words[0] == "report":  # of something
            assert dpbench("run", "experiment=epicrec/example", "scale=smoke", "tracking=none").returncode == 0
        if "opendp" in command:
            pytest.importorskip("opendp")
        done = dpbench(*words)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        if command == "new experiment mine/sweep":
            (shown,) = re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
            (tmp_path / "conf/experiment/mine/sweep.yaml").write_text(shown)


def test_what_is_left_out_is_still_told() -> None:
    told = {command for page in PAGES for command in commands(page)}
    assert {*ELSEWHERE} <= told


@pytest.mark.parametrize("page", [page for page in PAGES if python(page)], ids=lambda page: page.stem)
def test_python(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for code in python(page):
        exec(compile(code, str(page), "exec", dont_inherit=True), {})


def test_options_in_tables_exist(dpbench: Call) -> None:
    """Every --option that a page names is one of the verb's."""
    known = "".join(
        dpbench(verb, "--help").stdout
        for verb in (
            "advise",
            "audit",
            "bench",
            "check",
            "claims",
            "compare",
            "data",
            "figures",
            "list",
            "merge",
            "new",
            "reproduce",
            "report",
            "run",
        )
    )
    known += "".join(
        dpbench(*words, "--help").stdout for words in (("data", "get"), ("board", "add"), ("board", "verify"))
    )
    told = {option for page in PAGES for option in re.findall(r"`(--[a-z-]+)", page.read_text(encoding="utf-8"))}
    assert told
    assert [option for option in sorted(told) if option not in known] == []
