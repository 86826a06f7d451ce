"""The front door, `python -m dpbench WORDS`, in a process of its own that starts quickly.

A process that has imported the package (`warm.py`, one for each process of pytest) forks for every command. Folder, environment,
output, exit status and end of the process are those of a fresh one; only the seconds of imports are saved. Where a variable
differs that is read while Python or a library is loaded, and with DPBENCH_TEST_COLD=1, the command starts a Python of its own.
Tests of start-up, signals and kills start theirs themselves.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from support.paths import ROOT

Done = subprocess.CompletedProcess[str]
AT_LOADING = ("PYTHON", "NUMBA_", "OMP_", "OPENBLAS_", "MKL_", "MPL", "LD_", "DPBENCH_RECORD")
WARM = Path(__file__).with_name("warm.py")


def environment(**more: str) -> dict[str, str]:
    """That of a command: the package of this checkout, and a wide terminal."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **more}


def dpbench(*words: str, cwd: Path, timeout: float = 900, env: Mapping[str, str] | None = None) -> Done:
    """The finished command."""
    given = dict(environment() if env is None else env)
    if not hasattr(os, "fork") or os.environ.get("DPBENCH_TEST_COLD"):
        return cold(*words, cwd=cwd, timeout=timeout, env=given)
    server = Server.get()
    if not server.fits(given):
        return cold(*words, cwd=cwd, timeout=timeout, env=given)
    return server.run([*words], cwd, given, timeout)


def cold(*words: str, cwd: Path, timeout: float = 900, env: Mapping[str, str] | None = None) -> Done:
    """The finished command, by a Python of its own."""
    given = dict(environment() if env is None else env)
    command = [sys.executable, "-m", "dpbench", *words]
    return subprocess.run(command, cwd=cwd, env=given, capture_output=True, text=True, timeout=timeout)


class Server:
    """The process that forks. One with an environment of its own is closed by whoever starts it."""

    _running: Server | None = None

    @classmethod
    def get(cls) -> Server:
        if cls._running is None:
            cls._running = cls(environment())
        return cls._running

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, str(WARM), str(theirs.fileno())],
            cwd=ROOT,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self.line = ours
        self.answers = ours.makefile("r")
        atexit.register(self.close)

    def fits(self, env: Mapping[str, str]) -> bool:
        return _at_loading(env) == _at_loading(self.env)

    def run(self, words: list[str], cwd: Path, env: Mapping[str, str], timeout: float) -> Done:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            order = json.dumps({"words": words, "cwd": str(cwd), "env": dict(env)}).encode() + b"\n"
            sent = socket.send_fds(self.line, [order], [out.fileno(), err.fileno()])
            self.line.sendall(order[sent:])
            pid = int(self.answers.readline())
            self.line.settimeout(timeout)
            try:
                status = int(self.answers.readline())
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                self.close()  # a stream that timed out cannot be read again
                raise subprocess.TimeoutExpired(words, timeout) from None
            self.line.settimeout(None)
            out.seek(0)
            err.seek(0)
            return Done(words, status, out.read().decode(), err.read().decode())

    def close(self) -> None:
        if type(self)._running is self:
            type(self)._running = None
        atexit.unregister(self.close)
        self.line.close()
        self.answers.close()
        self.process.wait(timeout=300)


def _at_loading(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(AT_LOADING)}
