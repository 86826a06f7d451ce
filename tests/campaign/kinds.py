"""The kinds of faults: each function does one fault to a world and raises Bad if it is not survived. Imported by the campaign."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpbench.storage import seals
from dpbench.storage.store import Store

from campaign.world import WORDS, Bad, NotTried, World
from support import door
from support.damage import harm
from support.fuzz import command_line
from support.hostile import put, repeated_words, shadow, trap
from support.paths import ROOT
from support.stores import filled, name_of

Kind = Callable[[World], None]
TEXTS = (
    "<script>alert(1)</script>",
    "[red]\x1b[31m",
    "$\\frac{$",
    "x" * 30_000,
    "\u202egnp",
    "",
    "../../evil",
    "%s{}",
    "a\nb",
)
ODD: tuple[Any, ...] = (*TEXTS, -1, 2**63, 10**400, 1e308, float("nan"), None, True, [], {}, [[1]], {"a": {"b": 1}})
INJECTED = """
import errno, os
calls, real = [0], {{name: getattr(os, name) for name in ("fsync", "replace", "rename", "mkdir")}}
def faulty(name):
    def call(*words, **more):
        calls[0] += 1
        if calls[0] == {at}:
            raise OSError(errno.{error}, os.strerror(errno.{error}))
        return real[name](*words, **more)
    return call
for name in real:
    setattr(os, name, faulty(name))
"""
CLOCK = """
import time
real, calls = time.time, [0]
def jump():
    calls[0] += 1
    return real() + {by} * (calls[0] % 3 - 1)
time.time = jump
"""


# Accidents.


def damaged_results(world: World) -> None:
    results = world.copy()
    for _ in range(world.dice.choice([1, 1, 2, 3])):
        harm(world.dice, [p for p in results.rglob("*") if p.is_file() and {"trials", "runs"} & {*p.parts}])
    world.settle(results)


def damaged_cache(world: World) -> None:
    files = [p for p in (world.home / "cache" / "data").rglob("*") if p.is_file() and "/." not in str(p)]
    harm(world.dice, [p for p in files if p.suffix in (".npy", ".json")])
    results = world.copy()
    shutil.rmtree(results / "trials")
    world.settle(results)


def killed(world: World) -> None:
    results = world.home / f"k{world.dice.randrange(10**9)}"
    process = world.python(words=(*WORDS, f"results={results.name}"))
    time.sleep(world.dice.random() * 4)
    process.kill()
    process.communicate()
    world.settle(results)


def stopped(world: World) -> None:
    """SIGSTOP for seconds, or for minutes if there is time, and another process goes on meanwhile."""
    results = world.home / f"s{world.dice.randrange(10**9)}"
    process = world.python(words=(*WORDS, f"results={results.name}"))
    time.sleep(world.dice.random() * 3)
    process.send_signal(signal.SIGSTOP)
    world.call(*WORDS, f"results={results.name}", status=(0,))
    time.sleep(120 if world.long else 2)
    process.send_signal(signal.SIGCONT)
    world.finished(process, status=(0,))
    world.settle(results)


def failing_disk(world: World) -> None:
    """EIO or ENOSPC from the n-th call that changes the disk."""
    results = world.home / f"d{world.dice.randrange(10**9)}"
    code = INJECTED.format(at=world.dice.randrange(1, 40), error=world.dice.choice(["EIO", "ENOSPC", "EDQUOT"]))
    world.finished(world.python(code=code, words=(*WORDS, f"results={results.name}")))
    world.settle(results)


def full_disk(world: World) -> None:
    results = world.home / f"f{world.dice.randrange(10**9)}"
    results.mkdir()
    size = f"size={world.dice.randrange(4, 60)}k"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", str(results)], capture_output=True).returncode:
        raise NotTried("mount is not allowed")
    try:
        world.call(*WORDS, f"results={results.name}")
        subprocess.run(["mount", "-o", "remount,size=50m", str(results)], check=True)
        world.settle(results)
    finally:
        subprocess.run(["umount", "-l", str(results)], check=True)


def out_of_memory(world: World) -> None:
    """The kernel ends a process that needs more than its group has."""
    group = Path("/sys/fs/cgroup/memory") / f"dpbench-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(world.dice.randrange(60, 250) << 20))
    except OSError as error:
        raise NotTried(f"no memory group can be made ({error.strerror})") from None
    results = world.home / f"o{world.dice.randrange(10**9)}"
    try:
        code = f"import os, pathlib\npathlib.Path({str(group / 'cgroup.procs')!r}).write_text(str(os.getpid()))"
        process = world.python(code=code, words=(*WORDS, f"results={results.name}"))
        world.finished(process, status=(0, 1, 2, -signal.SIGKILL))
    finally:
        group.rmdir()
    world.settle(results)


def clock_jumps(world: World) -> None:
    """The clock goes forth and back by up to days (in this process: libfaketime need not be installed)."""
    results = world.home / f"c{world.dice.randrange(10**9)}"
    code = CLOCK.format(by=world.dice.choice([3600, 10 * 86400, 1e9]))
    world.finished(world.python(code=code, words=(*WORDS, f"results={results.name}")), status=(0,))
    world.settle(results)


def other_user(world: World) -> None:
    """The folder belongs to somebody else, who allows little; root gives up the right to pass over that."""
    allowed = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner")
    if (
        os.getuid()
        or shutil.which("setpriv") is None
        or subprocess.run([*allowed, "true"], capture_output=True).returncode
    ):
        raise NotTried("needs root and setpriv")
    results = world.copy()
    for path in [results, *results.rglob("*")]:
        os.chown(path, 65534, 65534)
        path.chmod(world.dice.choice([0o700, 0o744, 0o755]))
    world.finished(world.python(*allowed, words=(*WORDS, f"results={results.name}")))
    for path in [results, *results.rglob("*")]:
        os.chown(path, 0, 0)
        path.chmod(0o755)
    world.settle(results)


def crowd(world: World) -> None:
    """Several processes in one folder, with the data not built yet."""
    results = world.home / f"p{world.dice.randrange(10**9)}"
    for folder in (world.home / "cache" / "data").iterdir():
        shutil.rmtree(folder)
    started = [world.python(words=(*WORDS, f"results={results.name}")) for _ in range(3)]
    for process in started:
        world.finished(process, status=(0,))
    world.settle(results)


def containers(world: World) -> None:
    """Two process namespaces in one folder."""
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-p", "-f", "true"], capture_output=True).returncode
    ):
        raise NotTried("namespaces are not allowed")
    results = world.home / f"n{world.dice.randrange(10**9)}"
    before = (("unshare", "-p", "-f"), ())
    for process in [world.python(*words, words=(*WORDS, f"results={results.name}")) for words in before]:
        world.finished(process, status=(0,))
    world.settle(results)


def many_files(world: World) -> None:
    """200,000 trial files of one setting, or a tenth if time is short."""
    results = world.copy()
    (setting,) = {p.parent.name for p in list(results.rglob("*.parquet"))[:1]}
    folder = Store(results).folder(setting)
    for number in range(200_000 if world.long else 20_000):
        (folder / f"{number + 1000:06d}-{number + 1000:06d}.{number:024x}.parquet").write_bytes(b"x")
    world.settle(results)


# Attacks.


def hostile_results(world: World) -> None:
    """A sealed run file with one field, or several, of any content; every verb that reads it."""
    results = world.copy()
    path = filled(results, 2, name="theirs").save()
    body = seals.unseal(path.read_bytes())
    for _ in range(world.dice.choice([1, 1, 3])):
        _change(world, body)
    path.write_text(seals.seal(body))
    _shown(world, results)


def hostile_trials(world: World) -> None:
    results = world.copy()
    filled(results, 1, name="theirs", repetitions=2000 if world.dice.random() < 0.3 else 6)
    dice = world.dice
    content = dice.choice([b"", b"PAR1", dice.randbytes(500), repeated_words(dice.choice([10, 300]), 100_000)])
    put(results, name_of(0), 0, dice.choice([0, 5, 299]), content)
    _shown(world, results)


def hostile_failures(world: World) -> None:
    results = world.copy()
    numbers = ", ".join(f"{n}{'0' * world.dice.randrange(9)}-{n}9999999" for n in range(world.dice.randrange(300)))
    (results / "failures").mkdir(exist_ok=True)
    setting = next(iter(world.whole))[0]
    text = f"Failed in whole@smoke\n\n  {setting} lpa: trials {numbers or world.dice.choice(TEXTS)}\n"
    (results / "failures" / "theirs.txt").write_text(text)
    (results / "audit.json").write_text(world.dice.choice(["[" * 50_000, "{}", seals.seal({"found": "x" * 10}), ""]))
    _shown(world, results)


def hostile_baselines(world: World) -> None:
    source = ROOT / "results" / "baselines" / "epicrec" / "example.json"
    path = world.home / "baselines" / "epicrec" / "example.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source.read_bytes())
    if world.dice.random() < 0.3:
        path.write_text(world.dice.choice(["[" * 300_000, '{"a":' * 90_000, "1" * 10_000, "null"]))
    else:
        harm(world.dice, [path])
    world.call("check", "epicrec/example", "--baselines", "baselines", "--jobs", "1", "--results", "gate")


def hostile_yaml(world: World) -> None:
    bombs = [
        "[" * 200_000,
        "- " * 50_000 + "x",
        "a: &a [*a]\n",
        "a: " + "9" * 6000,
        "? {a: 1}\n: 2",
        "\x00",
        "!!python/name:os.system x",
    ]
    bombs.append(
        "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [{'*a, ' * 8}*{'a' if not n else f'b{n - 1}'}]\n" for n in range(99))
    )
    folder = world.home / "theirs" / "claims"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "odd.yaml").write_text(world.dice.choice([*bombs, *TEXTS]))
    world.call("claims", "odd", "--config-dir", "theirs")


def foreign_folder(world: World) -> None:
    """Every verb from inside of a results folder that is full of code."""
    results, marker = world.copy(), world.home / "touched"
    trap(results, marker, "whole")
    shadow(results, marker)
    line = world.dice.choice(
        ["list mechanisms", "list tasks", "figures --results .", "claims gs --results .", "data list"]
    )
    environment = door.environment(PYTHONPATH=str(ROOT))
    words = [sys.executable, "-m", "dpbench", *line.split()]
    done = subprocess.run(words, cwd=results, env=environment, capture_output=True, text=True, timeout=150)
    if "Traceback" in done.stderr:
        raise Bad("crashed", done.stderr)
    if marker.exists():
        marker.unlink()
        raise Bad("silent", f"{line} ran code of the folder")
    shutil.rmtree(results)


def hostile_server(world: World) -> None:
    """A tracking server or scheduler that answers nonsense, or nothing."""
    answer = world.dice.choice([b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", os.urandom(2000), b"x"])
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            held = []
            while True:
                try:
                    line, _ = server.accept()
                    held.append(line)
                    line.sendall(answer)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        if world.dice.random() < 0.5:
            world.call("track", "whole", "--results", "undisturbed", "--uri", f"http://{address}")
        else:
            words = ("runner=dask", f"runner.address=tcp://{address}", "results=dask")
            world.call(*[word for word in WORDS if not word.startswith("runner")], *words, status=(1, 2))


def command_lines(world: World) -> None:
    words = command_line(world.dice.randrange(10**6))
    if words[0] in ("run", "list", "data", "figures", "track", "completion"):
        world.call(*words, status=(0, 1, 2))


def _change(world: World, body: dict[str, Any]) -> None:
    """Another value for one field at any depth."""
    place: Any = body
    while True:
        keys = [*place] if isinstance(place, dict) else [*range(len(place))]
        if not keys:
            return
        key = world.dice.choice(keys)
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or world.dice.random() < 0.2:
            place[key] = world.dice.choice(ODD)
            return
        place = inner


def _shown(world: World, results: Path) -> None:
    """What others sent does not disturb what is ours, and nothing of it reaches the terminal as a command."""
    verbs = [("figures", "--results", results.name), ("claims", "gs", "--results", results.name)]
    verbs += [("report", "--results", results.name, "--output", "page.html")] if world.dice.random() < 0.15 else []
    for words in verbs:
        done = world.call(*words)
        if "\x1b[31m" in done.stdout + done.stderr:
            raise Bad("silent", f"{words}: a text of theirs controls the terminal")
        if words[0] == "report" and "<script>alert(1)" in (world.home / "page.html").read_text():
            raise Bad("silent", "a text of theirs is a script on the page")
        if words[0] == "figures" and "whole" not in done.stdout:
            raise Bad("lost", f"the other run is not drawn: {done.stderr}")
    world.settle(results)


KINDS: dict[str, Kind] = {
    "damaged results": damaged_results,
    "damaged data": damaged_cache,
    "kill": killed,
    "SIGSTOP": stopped,
    "EIO, ENOSPC and EDQUOT": failing_disk,
    "full disk": full_disk,
    "kernel out of memory": out_of_memory,
    "clock jumps": clock_jumps,
    "another user's permissions": other_user,
    "processes in one folder": crowd,
    "containers in one folder": containers,
    "200,000 trial files": many_files,
    "hostile run files": hostile_results,
    "hostile trial files": hostile_trials,
    "hostile failures and audits": hostile_failures,
    "hostile baselines": hostile_baselines,
    "hostile YAML": hostile_yaml,
    "inside a hostile folder": foreign_folder,
    "hostile servers": hostile_server,
    "command lines": command_lines,
}
