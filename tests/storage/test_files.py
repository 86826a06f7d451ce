"""Files: temporaries of other processes are safe, and those of dead ones are removed; digests of content."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpbench.errors import UserError
from dpbench.storage import files
from dpbench.storage.files import DAMAGED, DAY, OLD, YOUNG, file_digest, files_digest, sweep, sweep_folder, temporary

HERE = files._machine()


def dead() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def leave(path: Path, age: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("half a fi")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_leftovers_of_a_results_folder(tmp_path: Path) -> None:
    """Those of dead processes of this machine after some minutes, all others after a day."""
    folder, gone = tmp_path / "trials" / "ab" / "abcd", dead()
    kept = {
        leave(folder / f".tmp-{HERE}-{gone}-1", YOUNG / 2),
        leave(temporary(folder), DAY / 2),
        leave(folder / f".tmp-0123456789abcdef-{gone}-2", DAY / 2),
        leave(folder / "000000-000003.parquet", 9 * DAY),
        leave(tmp_path / f".tmp-{HERE}-{gone}-3", 9 * DAY),  # not a folder that we write into
    }
    for root in ("runs/gs", "trials/ab/abcd", "failures"):
        leave(tmp_path / root / f".tmp-{HERE}-{gone}-4", YOUNG + 60)
    leave(temporary(folder), DAY + 60)
    leave(folder / ".tmp-elsewhere-1-5", DAY + 60)
    leave(folder / f".tmp-{HERE}-{'9' * 30}-6", YOUNG + 60)
    sweep(tmp_path)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == kept


def test_leftovers_of_a_cache(tmp_path: Path) -> None:
    """Folders, too: one in which something is written is not old. Damaged ones are kept for a day."""
    gone = dead()

    def make(name: str, age: float, inner: float | None = None) -> str:
        leave(tmp_path / name / "counts.npy", age if inner is None else inner)
        os.utime(tmp_path / name, (time.time() - age,) * 2)
        return name

    kept = {
        make(temporary(tmp_path).name, DAY / 2),
        make(f".tmp-{HERE}-{gone}-1", YOUNG / 2),
        make(f".tmp-{HERE}-{gone}-2", DAY, YOUNG / 2),
        make(temporary(tmp_path, DAMAGED).name, DAY / 2),
        make(f".damaged-{HERE}-{gone}-3", DAY / 2),
        make("somebodys", 9 * DAY),
    }
    make(f".tmp-{HERE}-{gone}-4", YOUNG + 60)
    make(f".old-{HERE}-{gone}-5", YOUNG + 60)
    make(temporary(tmp_path, OLD).name, DAY + 60)
    make(f".damaged-{HERE}-{gone}-6", DAY + 60)
    sweep_folder(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == kept
    sweep_folder(tmp_path / "missing")


@pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="no namespaces")
@pytest.mark.parametrize("other", ["boot", "namespace", "host"])
def test_processes_of_another_container_are_not_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """The same process id means another process there: what it writes is not swept, however dead that id is here."""
    read, link = Path.read_text, os.readlink
    with monkeypatch.context() as patch:
        if other == "boot":
            patch.setattr(Path, "read_text", lambda self: "11" if self.name == "boot_id" else read(self))
        elif other == "namespace":
            patch.setattr(os, "readlink", lambda path: "pid:[7]" if path == "/proc/self/ns/pid" else link(path))
        else:
            patch.setattr(files.platform, "node", lambda: "elsewhere")
        machine = files._machine.__wrapped__()
    assert machine != HERE == files._machine.__wrapped__()
    path = leave(tmp_path / "runs" / f".tmp-{machine}-{dead()}-1", YOUNG + 60)
    sweep(tmp_path)
    assert path.exists()


def test_digests_of_files(tmp_path: Path) -> None:
    one, two, folder = tmp_path / "one", tmp_path / "two", tmp_path / "folder"
    folder.mkdir()
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    (folder / "three").write_bytes(b"3")
    assert len(file_digest(one)) == 32
    before = files_digest([one, str(two), folder])
    assert before == files_digest([one, two, folder])
    assert before != files_digest([two, one, folder])
    copy = tmp_path / "copy"
    copy.write_bytes(b"1")
    assert before == files_digest([copy, two, folder])
    (folder / "three").rename(folder / "four")
    assert before != files_digest([one, two, folder])
    with pytest.raises(UserError, match="missing: cannot be read: No such file"):
        files_digest([tmp_path / "missing"])
