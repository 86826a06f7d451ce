"""The process behind `door.py`: imports what commands import, then forks for every order that comes over a socket."""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import sys
from typing import Any

LIBRARIES = ("hydra", "joblib", "matplotlib.pyplot", "numba", "pandas", "pyarrow.parquet", "rich.table", "scipy.stats")
PACKAGES = ("cli", "engine", "storage", "mechanisms", "sources", "tasks", "figures", "report", "claims", "auditing")
PAIRS = 24
"""Pairs on which claims about privacy are decided, at most: as many as the test of all these claims takes in
tests/claims/test_privacy.py. On all that they ask for, commands would compute half a minute."""
ABSENT = ("dpbench.engine.cluster", "dpbench.engine.connect", "dpbench.engine.slurm")  # they need Dask


def load() -> None:
    from dpbench import identity
    from dpbench.claims import replays
    from dpbench.storage import mlflow_client, tracking

    for name in LIBRARIES:
        importlib.import_module(name)
    for part in PACKAGES:
        package = importlib.import_module(f"dpbench.{part}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name not in ABSENT:
                importlib.import_module(module.name)
    mlflow_client.load()
    tracking.PATIENCE = 240.0  # a busy machine is slow
    audited = replays._audited
    replays._audited = lambda name, mechanism, epsilon, pairs, *more: audited(
        name, mechanism, epsilon, min(pairs, PAIRS), *more
    )
    identity.code_of(files=["**/*.py"])  # the text of our modules, which every plan reads
    gc.collect()
    gc.freeze()


def orders(line: socket.socket) -> Any:
    """Each order, with the descriptors of its output."""
    while True:
        content, descriptors, _, _ = socket.recv_fds(line, 1 << 16, 2)
        if not content:
            return
        while not content.endswith(b"\n"):
            content += line.recv(1 << 16)

        yield json.loads(content), descriptors


def become(order: dict[str, Any], descriptors: list[int], line: socket.socket) -> None:
    """What `python -m dpbench` in that folder begins with."""
    line.close()
    for place, descriptor in zip((1, 2), descriptors, strict=True):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    del sys.path[0]  # of this file; `import dpbench` does the same with the folder that `python -m` searches first
    importlib.invalidate_caches()
    sys.argv = ["dpbench", *order["words"]]


def main() -> None:
    line = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(line.fileno(), False)
    load()
    for order, descriptors in orders(line):
        pid = os.fork()
        if not pid:
            become(order, descriptors, line)
            runpy.run_module("dpbench", run_name="__main__", alter_sys=True)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        line.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        line.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
