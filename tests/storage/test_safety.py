"""Somebody else's results folder, on the command line: whatever it names is not imported, called, opened or written.

A hook in the process notes every import, every opened file and every started program. It is there from the start of the
process that forks for every command (`support/door.py`). The folder is sealed properly, as its author can do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpbench.storage import seals
from dpbench.storage.store import Store

from support import door
from support.paths import ROOT
from support.stores import name_of, rows, run

VERBS = {
    "figures": ["figures"],
    "claims": ["claims", "gs"],
    "track": ["track"],
    "report": ["report"],
    "check": ["check", "epicrec/example", "--results", "results", "--jobs", "1"],
}
HTML = "<script>alert(1)</script>[red]\x1b[31m"
HOOK = """
import json, os, sys
LOG = os.open(os.environ["SAFETY_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def note(event, args):
    if event in ("import", "open", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.rename", "os.mkdir",
                 "os.remove", "os.symlink", "os.truncate", "shutil.rmtree", "sqlite3.connect", "exec", "compile"):
        shown = [a if isinstance(a, (str, int, type(None))) else os.fsdecode(a) if isinstance(a, bytes) else repr(a)
                 for a in args]
        os.write(LOG, (json.dumps([event, shown]) + "\\n").encode())
sys.addaudithook(note)
"""
EVIL = "import pathlib\npathlib.Path({marker!r}).touch()\nclass Evil:\n    def __init__(self, **_): pass\n"


class World:
    """A user's folder `inside` with a results folder from elsewhere, and things beside it that nobody may touch."""

    def __init__(self, root: Path, hooked: door.Server) -> None:
        self.root, self.home, self.results = root, root / "inside", root / "inside" / "results"
        self.marker, self.hooked = root / "touched", hooked
        self.results.mkdir(parents=True)
        for place in (root / "evil.py", self.home / "evil.py", root / "evil.md"):
            place.write_text(EVIL.format(marker=str(self.marker)))

    def call(self, *words: str) -> tuple[subprocess.CompletedProcess[str], list[tuple[str, list[Any]]]]:
        """A finished command, and what it did."""
        log = Path(self.hooked.env["SAFETY_LOG"])
        os.truncate(log, 0)
        done = self.hooked.run([*words], self.home, self.hooked.env, 300)
        assert "Traceback" not in done.stderr, done.stderr
        return done, [tuple(json.loads(line)) for line in log.read_text().splitlines()]

    def check(self, did: list[tuple[str, list[Any]]]) -> None:
        """Nothing named `evil` was touched, no program was started but git, nothing was written beside the folder."""
        assert len(did) > 100, "the hook is there"
        assert not self.marker.exists()
        for event, args in did:
            # The folder of the results is listed and read; a file there may have any name.
            named = [a for a in args if isinstance(a, str) and "evil" in a and str(self.results) not in a]
            named = [a for a in named if not a.startswith("results/")]
            assert not named or event == "compile", (event, args)
            if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
                assert Path(str(args[0])).name in ("git", "uname", "lscpu", "ldconfig", "gcc", "fc-list"), args
        beside = {p for p in self.root.rglob("*") if p.is_file() and self.results not in p.parents}
        assert {p.relative_to(self.root).as_posix() for p in beside} <= self.known, beside

    known = frozenset({"evil.py", "inside/evil.py", "evil.md", "precious"})


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[door.Server]:
    folder = tmp_path_factory.mktemp("hook")
    (folder / "sitecustomize.py").write_text(HOOK)
    (folder / "log").touch()
    paths = os.pathsep.join([str(folder), str(ROOT)])
    server = door.Server(door.environment(PYTHONPATH=paths, SAFETY_LOG=str(folder / "log")))
    yield server
    server.close()


@pytest.fixture
def world(tmp_path: Path, hooked: door.Server) -> World:
    return World(tmp_path, hooked)


def forge(world: World, change: Callable[[dict[str, Any]], object], file: str = "gs/fig9@smoke.json") -> Path:
    """A run with stored trials, changed as its author could."""
    made = run(world.results, 2, repetitions=4)
    path = made.save()
    body = seals.unseal(path.read_bytes())
    path.unlink()
    change(body)
    store = Store(world.results)
    for number in range(2):
        store.write(name_of(number), rows(range(4), number), "{}")
    target = world.results / "runs" / file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(seals.seal(body))
    return target


def programs(world: World) -> Callable[[dict[str, Any]], None]:
    """Sources, mechanisms and tasks that are programs, or classes of a module that leaves a marker."""

    def change(body: dict[str, Any]) -> None:
        body["run"].update(title=HTML, changes=[HTML], left_out=[[HTML, HTML]], metrics=["evil"])
        for name in ("dataset", "task"):  # each setting gets its own; the mechanisms differ already
            body[f"{name}s"] = [dict(body[f"{name}s"][0]) for _ in range(2)]
            body["settings"][1][name] = 1
        touch = {"args": ["touch", str(world.marker)]}
        body["datasets"][0].update(source="subprocess.Popen", params=touch, given=[])
        body["mechanisms"][0].update(cls="subprocess.Popen", params=touch)
        body["tasks"][0].update(cls="evil.Evil")
        body["datasets"][1].update(source="evil.Evil", params={"path": str(world.root / "evil.py")}, given=["path"])
        body["mechanisms"][1].update(cls="evil.Evil", params={})
        body["tasks"][1].update(cls="os.system", params={"command": f"touch {world.marker}"})

    return change


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_named_in_a_folder_is_imported_called_or_opened(world: World, verb: str) -> None:
    forge(world, programs(world))
    done, did = world.call(*VERBS[verb])
    world.check(did)
    assert "\x1b" not in done.stdout
    if verb == "report":
        assert "<script>alert" not in (world.results / "report.html").read_text()


NAMES: dict[str, Callable[[World, dict[str, Any]], object]] = {
    "absolute": lambda world, body: body["run"].update(name=str(world.root / "evil")),
    "upwards": lambda world, body: body["run"].update(name="../../evil"),
    "scale": lambda world, body: body["run"].update(scale="../../../evil"),
    "dataset": lambda world, body: body["datasets"][0].update(name="../../evil"),
    "dataset from files": lambda world, body: body["datasets"][0].update(name="../evil", original=True),
    "id": lambda world, body: body["settings"][0].update(id="../../../evil"),
    "mechanism": lambda world, body: body["mechanisms"][0].update(name="../evil"),
    "task": lambda world, body: body["tasks"][0].update(name="/evil"),
}


@pytest.mark.parametrize("verb", ["figures", "claims", "track", "report"])
def test_names_that_lead_elsewhere_are_passed_over(world: World, verb: str) -> None:
    """Every such file is named, set aside, and nothing of it is used."""
    for number, change in enumerate(NAMES.values()):
        forge(world, lambda body, change=change: change(world, body), f"gs/fig9@forged{number}.json")
    done, did = world.call(*VERBS[verb])
    world.check(did)
    for number in range(len(NAMES)):
        assert f"fig9@forged{number}.json is damaged" in done.stderr
    assert len(list((world.results / "damaged").iterdir())) == len(NAMES)


@pytest.mark.parametrize("verb", ["figures", "track", "report", "check"])
def test_links_in_a_folder_lead_nowhere(world: World, verb: str) -> None:
    """Links where files are written, or set aside: what they lead to stays as it is."""
    forge(world, lambda body: None)
    precious = world.root / "precious"
    precious.write_text("mine")
    damaged = next((world.results / "trials").rglob("*.parquet"))
    damaged.write_bytes(b"no parquet")
    outside = world.root / "outside"
    outside.mkdir()
    (world.results / "figures" / "gs").mkdir(parents=True)
    for kind in ("csv", "png", "pdf"):
        (world.results / "figures" / "gs" / f"fig9.{kind}").symlink_to(precious)
    for name in ("report.html", "mlflow.db", "mlflow.lock"):
        (world.results / name).symlink_to(precious)
    for name in ("damaged", "mlartifacts"):
        (world.results / name).symlink_to(outside)
    _, did = world.call(*VERBS[verb])
    world.check(did)
    assert precious.read_text() == "mine"
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("linked", ["runs", "trials", "setting"])
def test_a_linked_part_of_a_folder_is_not_read(world: World, linked: str) -> None:
    """A link to a folder of the user's own: its files are neither opened nor set aside."""
    forge(world, lambda body: None)
    own = world.root / "own"
    place = Store(world.results).folder(name_of(0)) if linked == "setting" else world.results / linked
    shutil.copytree(place, own)
    (own / "evil.txt").write_text("mine")
    before = {p: p.read_bytes() for p in own.rglob("*") if p.is_file()}
    shutil.rmtree(place)
    place.symlink_to(own)
    for verb in ("figures", "claims", "track"):
        done, did = world.call(*VERBS[verb])
        assert done.returncode == 1
        assert "links in a results folder are not followed" in done.stderr
        assert not [a for event, args in did for a in args if event == "open" and isinstance(a, str) and "evil" in a]
    assert before == {p: p.read_bytes() for p in own.rglob("*") if p.is_file()}


def test_the_hook_sees_what_it_should(world: World) -> None:
    """The test can fail: a user's own class is imported from the same place, and leaves its marker."""
    (world.home / "mine" / "mechanism").mkdir(parents=True)
    (world.home / "mine" / "mechanism" / "evil.yaml").write_text("evil: {class: evil.Evil}\n")
    words = ("run", "--config-dir", "mine", "scale=smoke", "dataset=[trajectory]", "mechanism=[evil]", "trials=1")
    _, did = world.call(*words, "tracking=none", "figure=false", "runner.jobs=1")
    assert world.marker.exists()
    with pytest.raises(AssertionError):
        world.check(did)
