"""Cached datasets: every damage is reported and repaired, and an opened dataset proves its content."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from dpbench import identity
from dpbench.data.base import arrays_of, scalars_of
from dpbench.model.setting import Dataset
from dpbench.sources import cache, stored
from dpbench.sources.cache import Opened, OtherData, open_dataset
from dpbench.sources.stored import DamagedFolder
from dpbench.storage.files import file_digest, temporary
from dpbench.storage.seals import seal, unseal

SPEC = Dataset("visits", "cube", {"shape": "4x5x6", "density": 0.2, "largest": 40, "mean": 6.0}, 3)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


def facts(opened: Opened) -> list[Any]:
    """All that an opened dataset says, copied: its arrays are maps of files that are damaged here."""
    arrays = {name: (array.dtype.str, array.tolist()) for name, array in arrays_of(opened.data).items()}
    return [arrays, scalars_of(opened.data), opened.fingerprint, opened.statistics, opened.skipped]


def damage(path: Path, rng: random.Random) -> bool:
    """One random accident of a file. Returns whether it changed anything."""
    before = path.read_bytes()
    at, kind = rng.randrange(len(before)), rng.randrange(5)
    after = [
        before[:at] + bytes([before[at] ^ (1 << rng.randrange(8))]) + before[at + 1 :],
        before[:at] + bytes([rng.randrange(256)]) + before[at + 1 :],
        before[:at],
        before[:at] + b"0" + before[at:],
        before[:at] + before[at + rng.randrange(1, 9) :],
    ][kind]
    path.write_bytes(after)
    return after != before


def test_no_accident_of_a_cached_folder_is_silent() -> None:
    """1,200 accidents of meta.json and of the arrays, headers included. Before the seal 55 of 1,200 accidents of meta.json
    were silent."""
    open_dataset(SPEC)
    folder, rng, seen, headers = cache.folder(SPEC), random.Random(4), 0, 0
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    for number in range(1200):
        name = "meta.json" if number % 2 else rng.choice(sorted(whole))
        if damage(folder / name, rng):
            headers += name.endswith(".npy") and (folder / name).read_bytes()[:128] != whole[name][:128]
            with pytest.raises(DamagedFolder, match=name if name == "meta.json" else "checksum of"):
                stored.load(folder, verify=True)
            seen += 1
        (folder / name).write_bytes(whole[name])
    assert seen > 1100
    assert headers > 50
    stored.load(folder, verify=True)


def test_accidents_are_mended(own_cache: Path) -> None:
    """Each is told, the folder set aside, and what is opened is what was built."""
    good = facts(open_dataset(SPEC))
    folder, rng, told = cache.folder(SPEC), random.Random(5), 0
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    for _ in range(50):
        said: list[str] = []
        if damage(folder / rng.choice(sorted(whole)), rng):
            again = open_dataset(SPEC, say=said.append)
            assert facts(again) == good
            assert again.verified
            assert said[0].startswith("visits: cached data is damaged (")
            assert said[1:] == ["building visits"]
            assert {path.name: path.read_bytes() for path in folder.iterdir()} == whole
            told += 1
    assert told > 40
    assert len(list(own_cache.glob(".damaged-*"))) == told


def test_the_accident_is_named(own_cache: Path) -> None:
    open_dataset(SPEC)
    said: list[str] = []
    meta = cache.folder(SPEC) / "meta.json"
    meta.write_text(meta.read_text().replace('"kind": "contingency"', '"kind": "contingencY"'))
    open_dataset(SPEC, say=said.append)
    assert said[0].startswith(
        "visits: cached data is damaged (meta.json: its checksum does not match), kept as .damaged-"
    )
    (kept,) = own_cache.glob(".damaged-*")
    assert "contingencY" in (kept / "meta.json").read_text()
    with (cache.folder(SPEC) / "counts.npy").open("r+b") as file:
        file.seek(200)
        file.write(b"\x07")
    said.clear()
    open_dataset(SPEC, say=said.append)
    assert "(checksum of counts.npy)" in said[0]


def test_the_fingerprint_is_made_not_read() -> None:
    """A well-sealed meta.json whose fingerprint does not match its checksums is not believed."""
    good = open_dataset(SPEC)
    path = cache.folder(SPEC) / "meta.json"
    body = unseal(path.read_bytes())
    assert body["fingerprint"] == good.fingerprint
    path.write_text(seal(body | {"fingerprint": "0" * 32}))
    said: list[str] = []
    assert open_dataset(SPEC, say=said.append).fingerprint == good.fingerprint
    assert "fingerprint does not match its checksums" in said[0]


def test_the_fingerprint_is_that_of_the_files() -> None:
    """The recipe that stored baselines rely on."""
    opened = open_dataset(SPEC)
    sums = {name: file_digest(cache.folder(SPEC) / f"{name}.npy") for name in arrays_of(opened.data)}
    parts: list[Any] = ["contingency", scalars_of(opened.data), sums]
    assert opened.fingerprint == identity.digest(parts)


def test_another_type_in_a_header_is_seen_without_verifying() -> None:
    open_dataset(SPEC)
    path = cache.folder(SPEC) / "counts.npy"
    path.write_bytes(path.read_bytes().replace(b"<i8", b"<f8"))
    said: list[str] = []
    open_dataset(SPEC, verify=False, say=said.append)
    assert "counts.npy holds <f8" in said[0]


def test_a_process_verifies_once(monkeypatch: pytest.MonkeyPatch) -> None:
    open_dataset(SPEC)
    monkeypatch.setattr(stored, "_verified", {})
    hashed: list[str] = []

    def counted(path: Path) -> str:
        hashed.append(path.name)
        return file_digest(path)

    monkeypatch.setattr(stored, "file_digest", counted)
    assert open_dataset(SPEC).verified
    first = len(hashed)
    assert first >= 2
    assert open_dataset(SPEC).verified
    assert len(hashed) == first
    os.utime(cache.folder(SPEC) / "counts.npy")
    open_dataset(SPEC)
    assert hashed[first:] == ["counts.npy"]
    assert not open_dataset(SPEC, verify=False).verified


def test_other_data_than_expected() -> None:
    good = open_dataset(SPEC)
    assert open_dataset(SPEC, expected=good.fingerprint).fingerprint == good.fingerprint
    with pytest.raises(OtherData, match=f"visits: the data here has the fingerprint {good.fingerprint}, expected 00ff"):
        open_dataset(SPEC, expected="00ff")


def test_a_folder_without_meta_or_arrays(own_cache: Path) -> None:
    good = facts(open_dataset(SPEC))
    for name in ("meta.json", "counts.npy", "cells.npy"):
        (cache.folder(SPEC) / name).unlink()
        assert cache.peek(SPEC) == (None if name == "meta.json" else good[2])
        assert facts(open_dataset(SPEC)) == good


def test_threads_build_once(own_cache: Path) -> None:
    said: list[str] = []
    found: list[Opened] = []
    threads = [threading.Thread(target=lambda: found.append(open_dataset(SPEC, say=said.append))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == ["building visits"]
    assert len({opened.fingerprint for opened in found}) == 1
    assert len(found) == 8


# Several processes on one new cache

BUILDER = """
import json, pathlib, sys, time
import numpy as np
from dpbench.model.setting import Dataset
from dpbench.sources import cache
role, spec, signals = sys.argv[1], Dataset(**json.loads(sys.argv[2])), pathlib.Path(sys.argv[3])

def wait_for(*names):
    until = time.monotonic() + 120
    while not all((signals / name).exists() for name in names):
        assert time.monotonic() < until, names
        time.sleep(0.01)

def after(function, signal, *awaited):
    def called(*args, **kwargs):
        (signals / signal).touch()
        wait_for(*awaited)
        return function(*args, **kwargs)
    return called

if role == "first":  # stores its folder when all others have built theirs, and opens it when they have stored theirs
    np.save = after(np.save, "first-built", *(f"{name}-built" for name in sys.argv[4:]))
    np.load = after(np.load, "first-stored", *(f"{name}-done" for name in sys.argv[4:]))
else:  # has seen no folder, and stores one when the first has stored its own
    np.save = after(np.save, f"{role}-built", "first-stored")
try:
    print(cache.open_dataset(spec).fingerprint)
finally:
    (signals / f"{role}-done").touch()
"""


def test_processes_that_build_at_once_agree(own_cache: Path, tmp_path: Path) -> None:
    """All build, because none sees a folder; the others store theirs while the first opens its own."""
    others = ["second", "third", "fourth"]
    words = [json.dumps(SPEC.__dict__), str(tmp_path), *others]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", BUILDER, role, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for role in ["first", *others]
    ]
    answers = [process.communicate(timeout=300) for process in started]
    assert [process.returncode for process in started] == [0] * 4, [error for _, error in answers]
    assert {answer.strip() for answer, _ in answers} == {open_dataset(SPEC).fingerprint}
    assert [path.name for path in own_cache.iterdir()] == [cache.folder(SPEC).name]


@pytest.mark.parametrize("gone", [False, True])
def test_a_folder_that_is_replaced_while_it_is_opened_is_opened_again(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    """By another folder, or for a moment by none: it is not taken for damaged."""
    good = facts(open_dataset(SPEC))
    folder, load, said, calls = cache.folder(SPEC), stored.np.load, [], []

    def replaced(path: Path, **options: Any) -> Any:
        calls.append(path)
        if len(calls) == 2:
            if not gone:
                shutil.copytree(folder, folder.with_name("copy"))
            shutil.rmtree(folder)
            if not gone:
                folder.with_name("copy").rename(folder)
        return load(path, **options)

    monkeypatch.setattr(stored.np, "load", replaced)
    assert facts(open_dataset(SPEC, say=said.append)) == good
    assert said == ["building visits"] * gone
    assert not list(own_cache.glob(".damaged-*"))


# What is left aside


def test_killed_while_it_saves(own_cache: Path) -> None:
    """kill -9 in the middle leaves a folder aside, no dataset; a later build sweeps it."""
    code = """
import json, os, signal, sys
import numpy as np
from dpbench.sources import cache
from dpbench.model.setting import Dataset
save = np.save
def killed(path, array):
    save(path, array)
    os.kill(os.getpid(), signal.SIGKILL)
np.save = killed
cache.open_dataset(Dataset(**json.loads(sys.argv[1])))
"""
    run = subprocess.run([sys.executable, "-c", code, json.dumps(SPEC.__dict__)], capture_output=True, check=False)
    assert run.returncode == -9, run.stderr
    (left,) = own_cache.iterdir()
    assert left.name.startswith(temporary(own_cache).name.rpartition(f"-{os.getpid()}-")[0])
    open_dataset(SPEC)
    assert left.exists(), "it is young"
    for path in (left, *left.iterdir()):
        os.utime(path, (0, 0))
    shutil.rmtree(cache.folder(SPEC))
    open_dataset(SPEC)
    assert [path.name for path in own_cache.iterdir()] == [cache.folder(SPEC).name]
