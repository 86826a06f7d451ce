"""Libraries count by name and version, plugins by version and source, and finding out takes no time."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpbench import code_reader
from dpbench.code_reader import CORE
from dpbench.identity import code_of
from dpbench.mechanisms.base import MECHANISMS
from dpbench.sources.base import SOURCES
from dpbench.tasks.base import TASKS

from support.projects import Project


def forget() -> None:
    code_reader._LIBRARIES.clear()
    for cache in (code_reader.version, code_reader._distributions, code_reader._is_plugin):
        cache.cache_clear()


def install(project: Project, name: str, version: str, tops: list[str], points: str = "") -> None:
    """What pip leaves behind."""
    forget()
    folder = project.folder / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "RECORD").write_text("".join(f"{top}/__init__.py,,\n" for top in tops))
    (folder / "entry_points.txt").write_text(points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Project) -> Iterator[Project]:
    found = Project(tmp_path / "site-packages", monkeypatch)
    yield found
    found.forget()
    forget()


def test_a_version_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    first = code_of(MECHANISMS.get("lpa"))
    assert first.distributions["numpy"] == importlib.metadata.version("numpy")
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.1" if name == "numpy" else real(name))
    forget()
    second = code_of(MECHANISMS.get("lpa"))
    assert second.modules == first.modules
    assert second.distributions == {**first.distributions, "numpy": "0.1"}
    assert second.digest != first.digest
    forget()


def test_python_counts_by_its_minor_version() -> None:
    assert code_of(MECHANISMS.get("lpa")).distributions["python"].count(".") == 1


def test_a_library_counts_by_its_version_alone(project: Project, site: Project) -> None:
    """Whatever its distribution is called; and one that nobody imports does not count."""
    site.write(
        zzcalc____init__="from zzcalc.deep import f\n", zzcalc__deep="def f():\n    return 1\n", zzidle____init__=""
    )
    install(site, "ZZ.Calculator", "1.5", ["zzcalc"])
    install(site, "zzidle", "1.0", ["zzidle"])
    project.write(mine="import zzcalc\nclass A:\n    def f(self):\n        return zzcalc.f()\n")
    found = project.code("mine:A")
    assert dict(found.distributions) == {"zz-calculator": "1.5", **{"python": found.distributions["python"]}}
    assert set(found.modules) == {"mine"}


@pytest.mark.parametrize("points", ["", "[dpbench.mechanisms]\nzz = zzplugin.noise:Noise\n"])
def test_an_installed_plugin_counts_by_version_and_source(project: Project, site: Project, points: str) -> None:
    """Another library counts by its version, also if a class of it is named by its path."""
    site.write(
        zzplugin____init__="from zzplugin.noise import Noise\nfrom zzplugin.apart import apart\n",
        zzplugin__noise="from zzplugin._help import f\nclass Noise:\n    pass\n",
        zzplugin___help="def f():\n    return 1\n",
        zzplugin__apart="def apart():\n    return 1\n",
    )
    install(site, "zzplugin", "2.0", ["zzplugin"], points)
    first = site.code("zzplugin:Noise")
    assert set(first.modules) == (
        {"zzplugin", "zzplugin.noise", "zzplugin._help", "zzplugin.apart"} if points else set()
    )
    assert first.distributions["zzplugin"] == "2.0"
    site.change("zzplugin/_help.py", "1", "2")
    assert (site.code("zzplugin:Noise").digest != first.digest) is bool(points)
    # A user's class that is made from a plugin's counts it in the same way.
    project.write(mine="from zzplugin import Noise\nclass A(Noise):\n    pass\n")
    project.load("mine:A")
    assert ("zzplugin._help" in project.code("mine:A").modules) is bool(points)
    assert project.code("mine:A").distributions["zzplugin"] == "2.0"


def test_what_no_distribution_installed_counts_by_its_source(project: Project, site: Project) -> None:
    site.write(zzloose="def f():\n    return 1\n")
    project.write(mine="import zzloose\nclass A:\n    pass\n")
    assert set(project.code("mine:A").modules) == {"mine", "zzloose"}


def test_a_users_file_with_the_name_of_a_standard_module(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(__import__("sys").modules, "colorsys", raising=False)
    project.write(colorsys="def f():\n    return 1\n", mine="import colorsys\nclass A:\n    pass\n")
    assert set(project.code("mine:A").modules) == {"mine", "colorsys"}


def test_a_binary_module_counts_by_its_bytes(project: Project) -> None:
    project.write(mine="class A:\n    def f(self):\n        import _zzfast\n")
    binary = project.folder / "_zzfast.abi3.so"
    binary.write_bytes(b"one")
    first = project.code("mine:A")
    assert set(first.modules) == {"mine", "_zzfast"}
    binary.write_bytes(b"another")
    assert project.code("mine:A").digest != first.digest


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def test_thousands_of_settings_take_no_time() -> None:
    """1,000 settings of 20 classes, cold: 1.5 s on a quiet machine."""
    sources, mechanisms, tasks = ([cls for _, cls in r.items()][:7] for r in (SOURCES, MECHANISMS, TASKS))
    forget()
    code_reader._TEXTS.clear()
    settings = [(s, m, t) for s in sources for m in mechanisms for t in tasks for _ in range(3)]
    assert len(settings) >= 1000
    taken = seconds(lambda: [code_of(*setting, files=CORE) for setting in settings])
    assert taken < 4, f"{taken:.2f} s"


def test_the_owner_of_a_module_is_found_fast() -> None:
    forget()
    taken = seconds(lambda: code_of(MECHANISMS.get("gs")))
    assert taken < 0.5, f"{taken:.2f} s"
