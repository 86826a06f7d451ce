"""The reader of raw YAML: every file of ours is read as YAML says, by type, and a user's own folder counts first."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dpbench import documents
from dpbench.config import catalogue
from dpbench.config.catalogue import Axes
from dpbench.config.dataset_entry import DatasetEntry
from dpbench.errors import UserError
from dpbench.paths import CONF

FILES = sorted(CONF.glob("**/*.yaml"))


def test_every_file_is_read_as_yaml_says() -> None:
    assert len(FILES) > 100
    for path in FILES:
        assert documents.read(path).body == yaml.safe_load(path.read_text(encoding="utf-8")), path


def test_every_entry_has_its_type() -> None:
    for name in catalogue.options("dataset"):
        entry = catalogue.dataset(name)
        assert entry.kind in ("incidence", "records", "contingency", "catalogue") or name == "table"
        assert entry.generator or entry.files
        assert entry.changed({}) == entry
    for name in catalogue.options("mechanism"):
        assert catalogue.mechanism(name).cls
    for name in catalogue.options("experiment"):
        assert catalogue.title(name)
        axes = catalogue.axes(name)
        assert axes.datasets
        assert axes.mechanisms
        assert axes.tasks
        assert axes.epsilons


def test_lines_are_those_of_the_file() -> None:
    document = catalogue.option("dataset", "netflix")
    assert document is not None
    lines = document.path.read_text().splitlines()
    for keys in (("netflix", "sizes", "smoke"), ("netflix", "files"), ("netflix", "sizes", "paper", "top")):
        line = int(document.place(*keys).rpartition(" ")[2])
        assert lines[line - 1].strip().startswith(f"{keys[-1]}:")
    assert document.place("netflix", "nothing") == document.place("netflix")


def test_an_experiment_builds_upon_another(tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    folder.mkdir()
    (folder / "child.yaml").write_text("defaults:\n  - gs/fig9\n  - _self_\n  - override /dataset: kos\nepsilon: 2\n")
    found = catalogue.axes("child", tmp_path)
    assert (found.datasets, found.epsilons) == (("kos",), (2,))
    assert found.mechanisms == catalogue.axes("gs/fig9").mechanisms
    assert catalogue.title("child", tmp_path) == catalogue.title("gs/fig9")
    assert catalogue.axes("nothing") == Axes()
    (folder / "a.yaml").write_text("defaults: [b]\n")
    (folder / "b.yaml").write_text("defaults: [a]\n")
    assert catalogue.axes("a", tmp_path) == Axes(), "a circle ends"


def test_what_check_guards(tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    folder.mkdir()
    (folder / "real.yaml").write_text("defaults: [gs/fig9, _self_]\nbaseline: false\n")
    (folder / "more.yaml").write_text("defaults: [real, _self_]\nepsilon: 2\n")
    (folder / "odd.yaml").write_text("title: x\nbaseline: 3\n")
    assert [catalogue.guarded(name, tmp_path) for name in ("gs/fig9", "real", "more")] == [True, False, False]
    with pytest.raises(UserError, match=r"odd.yaml, line 2: baseline=3 is not valid: expected true or false"):
        catalogue.guarded("odd", tmp_path)


def test_a_users_own_file_counts_first(tmp_path: Path) -> None:
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "netflix.yaml").write_text("netflix: {kind: records, source: files, files: fimi}\n")
    assert catalogue.dataset("netflix", tmp_path) == DatasetEntry("netflix", "records", "files", files="fimi")
    with pytest.raises(UserError, match="unknown dataset 'netflx': did you mean 'netflix'"):
        catalogue.dataset("netflx")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: [1", r"odd.yaml, line 2: "),
        ("odd: {a: 1}\nodd: {a: 2}", r"odd.yaml, line 2: the key 'odd' occurs twice, first in line 1"),
        ("odd: {source: x}\n---\nodd: 2", r"odd.yaml, line 2: "),
        ("- 1", r"odd.yaml: expected keys and values, found a list"),
        ("other: {source: x}", r"odd.yaml: expected `odd: \{source: ...\}`"),
        ("odd: 5", r"odd.yaml, line 1: dataset 'odd': expected kind, source and so on, found a value"),
        ("odd:\n  source: [1]", r"odd.yaml, line 2: dataset.odd.source=\[1\] is not valid: expected a name"),
        ("odd:\n  sizes:\n    huge: {}", r"odd.yaml, line 3: unknown scale in dataset.odd.sizes: 'huge'"),
        ("odd:\n  path: {a: 1}", r"odd.yaml, line 2: dataset.odd.path=.* is not valid: expected one file or folder"),
        ("odd: !!python/object/apply:os.system [true]", r"odd.yaml, line 1: could not determine a constructor"),
        ("[" * 3000, r"odd.yaml"),
        ("? {a: 1}\n: 2", r"odd.yaml"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "odd.yaml").write_text(text + "\n")
    with pytest.raises(UserError, match=message):
        catalogue.dataset("odd", tmp_path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00a: 1")
    with pytest.raises(UserError, match=r"x.yaml: cannot be read"):
        documents.read(tmp_path / "x.yaml")
    with pytest.raises(UserError, match=r"gone.yaml: cannot be read"):
        documents.read(tmp_path / "gone.yaml")


def test_figures_are_listed_in_their_order() -> None:
    names = [name for name in catalogue.options("experiment") if name.startswith("gs/fig")]
    assert names == sorted(names, key=lambda name: int(name.removeprefix("gs/fig")))
    assert "gs/fig10" in names
