"""How the cells of a tutorial run: in an empty folder, as a reader would run them. A command that fails ends the build.

Imported by the first, hidden cell of every tutorial and by the tests of the three roles, which run the same cells.
"""

from __future__ import annotations

import atexit
import os
import pty
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WIDTH = "100"
"""Width of a command's output in characters: what fits the page."""
BAR = re.compile(r"\S+ ━+ +\d+/\d+ .*")
"""A progress bar that is done."""


def begin(folder: str | None = None) -> None:
    """Work in an empty folder from here on (default: a new one, removed in the end)."""
    from IPython import get_ipython

    if folder is None:
        folder = tempfile.mkdtemp(prefix="dpbench-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chdir(folder)
    # `python` is the one that runs this page.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    # A plain terminal. Its width counts only together with a height.
    os.environ |= {"COLUMNS": WIDTH, "LINES": "50", "TERM": "dumb", "NO_COLOR": "1"}
    get_ipython().system = command


def command(line: str) -> None:
    """What `!line` does: run it, show what it prints, and raise when it fails, where IPython would go on.

    Standard output is a terminal as wide as the page; standard error is none, so that no progress bar is drawn.
    """
    outer, inner = pty.openpty()
    running = subprocess.Popen(["bash", "-c", line], stdin=subprocess.DEVNULL, stdout=inner, stderr=subprocess.PIPE)
    os.close(inner)
    assert running.stderr is not None
    shown = _shown(outer, running.stderr.fileno())
    running.stderr.close()
    os.close(outer)
    print(shown, end="")
    if status := running.wait():
        raise RuntimeError(f"exit status {status}: {line}\n{shown}")


def _shown(*ends: int) -> str:
    """The output of some files until they end, in the order in which it arrives."""
    found: list[bytes] = []
    with selectors.DefaultSelector() as waiting:
        for end in ends:
            waiting.register(end, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                try:
                    part = os.read(key.fd, 1 << 16)
                except OSError:  # a terminal whose last writer is gone
                    part = b""
                found.append(part)
                if not part:
                    waiting.unregister(key.fd)
    lines = b"".join(found).decode().replace("\r\n", "\n").splitlines()
    return "".join(f"{text.rstrip()}\n" for text in lines if not BAR.fullmatch(text.strip()))
