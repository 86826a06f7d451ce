"""Cached datasets: every damage is reported and repaired, and an opened dataset proves its content."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dpbench import fingerprints
from dpbench.data.base import arrays_of, scalars_of
from dpbench.seals import file_digest, seal, unseal
from dpbench.sources import asides, cache, stored
from dpbench.sources.cache import Opened, OtherData, open_dataset
from dpbench.sources.spec import DatasetSpec
from dpbench.sources.stored import Damaged

SPEC = DatasetSpec("visits", "cube", {"shape": "4x5x6", "density": 0.2, "largest": 40, "mean": 6.0}, 3)


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
            with pytest.raises(Damaged, match=name if name == "meta.json" else "checksum of"):
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
    assert opened.fingerprint == fingerprints.digest(parts)


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


# What is left aside


def dead() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_leftovers_are_swept(own_cache: Path) -> None:
    """Those of dead processes of this host at once, all others after a day; nothing of a living process."""
    own_cache.mkdir(parents=True)
    host = asides.host()

    def make(name: str, hours: float = 0) -> str:
        (own_cache / name).mkdir()
        then = time.time() - hours * 3600
        (own_cache / name / "counts.npy").write_bytes(b"")
        os.utime(own_cache / name / "counts.npy", (then, then))
        os.utime(own_cache / name, (then, then))
        return name

    kept = {
        make(f".tmp-{host}-{os.getpid()}-00000000", 23),
        make(f".tmp-elsewhere-{dead()}-00000001", 23),
        make(f".damaged-{host}-{dead()}-00000002", 23),
        make("somebodys", 1000),
    }
    make(f".tmp-{host}-{dead()}-00000003")
    make(f".old-{host}-{dead()}-00000004")
    make(".tmp-elsewhere-1-00000005", 25)
    make(f".tmp-{host}-{os.getpid()}-00000006", 25)
    make(f".damaged-{host}-{os.getpid()}-00000007", 25)
    make(".tmp-12345-00000008", 25)
    open_dataset(SPEC)
    assert {path.name for path in own_cache.iterdir()} == kept | {cache.folder(SPEC).name}


def test_killed_while_it_saves(own_cache: Path) -> None:
    """kill -9 in the middle leaves a folder aside, no dataset; the next build sweeps it."""
    code = """
import json, os, signal, sys
import numpy as np
from dpbench.sources import cache
from dpbench.sources.spec import DatasetSpec
from dpbench.sources.stored import Damaged
save = np.save
def killed(path, array):
    save(path, array)
    os.kill(os.getpid(), signal.SIGKILL)
np.save = killed
cache.open_dataset(DatasetSpec(**json.loads(sys.argv[1])))
"""
    run = subprocess.run([sys.executable, "-c", code, json.dumps(SPEC.__dict__)], capture_output=True, check=False)
    assert run.returncode == -9, run.stderr
    (left,) = own_cache.iterdir()
    assert left.name.startswith(f".tmp-{asides.host()}-")
    open_dataset(SPEC)
    assert [path.name for path in own_cache.iterdir()] == [cache.folder(SPEC).name]
