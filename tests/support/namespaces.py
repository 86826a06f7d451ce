"""Machines that share nothing, as far as this one allows: a network and a file system of their own for each, joined by a
bridge in a network of its own. Needs root; `missing` says why there can be none."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

NETWORK = "10.77.0"  # inside the namespaces only
PROGRAMS = ("unshare", "nsenter", "ip", "mount")


@functools.cache
def missing() -> str:
    """Why there can be no namespaces here; empty when there can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"no {', '.join(absent)}"
    script = "ip link add name hub0 type bridge && ip link add name far0 type veth && mount -t tmpfs none /mnt"
    done = subprocess.run(["unshare", "-n", "-m", "sh", "-c", script], capture_output=True, text=True)
    return "" if done.returncode == 0 else " ".join(done.stderr.split()) or "unshare is not allowed"


class Machines:
    """A hub, in which the run and the scheduler are, and machines that reach it by network alone."""

    def __init__(self) -> None:
        self.holders: dict[str, subprocess.Popen[bytes]] = {}
        self.address = f"{NETWORK}.1"
        self._hold("hub", "-n")
        self._at_hub("ip", "link", "set", "lo", "up")
        self._at_hub("ip", "link", "add", "name", "bridge0", "type", "bridge")
        self._at_hub("ip", "address", "add", f"{self.address}/24", "dev", "bridge0")
        self._at_hub("ip", "link", "set", "bridge0", "up")

    @property
    def hub(self) -> tuple[str, ...]:
        """What goes before a command that runs in the hub."""
        return ("nsenter", "--target", str(self.holders["hub"].pid), "--net")

    def add(self, name: str, hidden: list[Path], folder: Path) -> tuple[str, ...]:
        """A machine that does not see the `hidden` folders. What goes before a command that runs there, in `folder`."""
        pid = self._hold(name, "-n", "-m", "--propagation=private")
        number = len(self.holders)
        inside = ("nsenter", "--target", str(pid), "--net", "--mount")
        self._at_hub("ip", "link", "add", "name", f"hub{number}", "type", "veth", "peer", "name", f"far{number}")
        self._at_hub("ip", "link", "set", f"hub{number}", "master", "bridge0")
        self._at_hub("ip", "link", "set", f"hub{number}", "up")
        self._at_hub("ip", "link", "set", f"far{number}", "netns", str(pid))
        _call(*inside, "ip", "link", "set", "lo", "up")
        _call(*inside, "ip", "address", "add", f"{NETWORK}.{number}/24", "dev", f"far{number}")
        _call(*inside, "ip", "link", "set", f"far{number}", "up")
        for place in hidden:
            _call(*inside, "mount", "-t", "tmpfs", "none", str(place))
        return (*inside, "sh", "-c", 'cd "$0" && exec "$@"', str(folder))

    def _hold(self, name: str, *words: str) -> int:
        """Start what keeps namespaces alive; its process id."""
        # It says when it is inside.
        process = subprocess.Popen(["unshare", *words, "sh", "-c", "echo; exec sleep 1000"], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        self.holders[name] = process
        return process.pid

    def _at_hub(self, *command: str) -> None:
        _call(*self.hub, *command)

    def close(self) -> None:
        for process in self.holders.values():
            process.kill()
            process.communicate()


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, f"{command}: {done.stderr}"
