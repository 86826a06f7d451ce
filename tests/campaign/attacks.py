"""Attacks: what somebody else may send, answer or write into a folder. Each function does one to a world and raises Bad if it has
an effect, or ends a command other than in order. Imported by the list of kinds."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpbench.storage import seals
from dpbench.storage.store import PLAIN

from campaign.world import CONTROL, LONGEST, WORDS, Bad, World
from support import door
from support.damage import harm
from support.fuzz import command_line
from support.hostile import put, repeated_words, shadow, trap
from support.paths import ROOT
from support.stores import filled, name_of

SCRIPT = "<script>alert(1)</script>"
TEXTS = (
    SCRIPT,
    "[red]\x1b[31m[/red]",
    "\x1b]0;title\x07\x9b31m",
    "$\\frac{$",
    "x" * 15_000,
    "x" * 30_000,
    "\u202egnp",
    "",
    "../../evil",
    "/etc/passwd",
    "%s{}{0.__class__}",
    "a\nb\rc",
    "=cmd|' /C calc'!A0",
    "\ud800",
    "${oc.env:HOME}",
    "nan",
)
ODD: tuple[Any, ...] = (*TEXTS, -1, 2**63, 10**400, 1e308, 5e-324, float("nan"), float("inf"), None, True, [], {})
ODD += ([[1]], {"a": {"b": 1}}, [""] * 5000)
ALIASES = "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [{'*a, ' * 8}*{'a' if not n else f'b{n - 1}'}]\n" for n in range(99))
DOUBLED = "b0: &b0 {x: [y, y]}\n" + "".join(
    f"b{n}: &b{n} {{x: *b{n - 1}, y: *b{n - 1}, z: *b{n - 1}}}\n" for n in range(1, 60)
)
BOMBS: tuple[str, ...] = (
    ALIASES,
    DOUBLED,
    "[" * 200_000,
    "- " * 50_000 + "x",
    "a: &a [*a]\n",
    "a: " + "9" * 6000,
    "? {a: 1}\n: 2",
)
BOMBS += ("\x00", "!!python/name:os.system x", "!!python/object/apply:os.system ['touch touched']", "a: 2024-99-99")
DEEP = ("[" * 300_000, '{"a":' * 90_000, "1" * 10_000, "null", "[]", '{"seal": 1}', "\ufeff{}", "NaN")
VERBS = ("dataset", "mechanism", "task", "experiment", "claims", "readings")


# A results folder.


def run_files(world: World) -> None:
    """A sealed run file with one field, or several, of any content; every verb that reads it."""
    results = world.copy()
    path = filled(results, 2, name="theirs").save()
    body = seals.unseal(path.read_bytes())
    if world.dice.random() < 0.4:
        _texts(world.dice, body)
    else:
        for _ in range(world.dice.choice([1, 1, 3])):
            _change(world.dice, body)
    path.write_text(_sealed(body))
    _shown(world, results)


def trial_files(world: World) -> None:
    results, dice = world.copy(), world.dice
    filled(results, 1, name="theirs", repetitions=2000 if dice.random() < 0.3 else 6)
    kind = dice.choice(["bytes", "bytes", "bomb", "columns"])
    if kind == "columns":
        content = _columns(dice)
    elif kind == "bomb":
        content = repeated_words(dice.choice([10, 300]), 100_000)
    else:
        content = dice.choice([b"", b"PAR1", dice.randbytes(500)])
    put(results, name_of(0), 0, dice.choice([0, 5, 299]), content)
    _shown(world, results)


def failures(world: World) -> None:
    results, dice = world.copy(), world.dice
    numbers = ", ".join(f"{n}{'0' * dice.randrange(9)}-{n}9999999" for n in range(dice.randrange(300)))
    (results / "failures").mkdir(exist_ok=True)
    setting = next(iter(world.whole))[0]
    told = _encodable(dice.choice(TEXTS))
    text = f"Failed in whole@smoke\n\n  {setting} lpa: trials {numbers or told}\n\n{told}\n"
    (results / "failures" / "theirs.txt").write_text(text)
    answers = {dice.choice(["x", "0" * 32]): dice.choice(ODD)}
    (results / "audit.json").write_text(dice.choice([*DEEP, _sealed({"answers": answers}), _sealed({"found": "x"})]))
    _shown(world, results)


def merged(world: World) -> None:
    """A folder of ours and one of theirs: a damaged file, a forged number or a link. Ours is in the result, or there is none."""
    theirs, dice, out = world.copy(), world.dice, world.new()
    kind = dice.choice(["harm", "forged", "link", "run", "name"])
    files = [p for p in theirs.rglob("*") if p.is_file() and {"trials", "runs"} & {*p.parts}]
    parquet = dice.choice([p for p in files if p.suffix == ".parquet"])
    if kind == "harm":
        harm(dice, files)
    elif kind == "forged":
        table = pq.read_table(parquet)
        number = table.schema.get_field_index("metric.mae")
        table = table.set_column(number, "metric.mae", pa.array([0.5] * table.num_rows))
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, **PLAIN)
        first, last = (int(part) for part in parquet.name.partition(".")[0].split("-"))
        parquet.unlink()
        put(theirs, parquet.parent.name, first, last, sink.getvalue().to_pybytes())
    elif kind == "link":
        target = world.home / "strangers.py"
        place = dice.choice([parquet, theirs / "runs" / "more.json", theirs / "trials" / "ff"])
        place.unlink(missing_ok=True)
        place.symlink_to(target)
    elif kind == "run":
        path = next((theirs / "runs").rglob("*.json"))
        body = seals.unseal(path.read_bytes())
        _change(dice, body)
        path.write_text(_sealed(body))
    else:
        (theirs / "trials" / "zz" / ("f" * 32)).mkdir(parents=True)
    done = world.call("merge", "undisturbed", theirs.name, "-o", out.name)
    if out.exists() and done.returncode == 0 and kind == "forged":
        raise Bad("silent", "two copies of a trial differ, and one was taken")
    if out.exists() and (missing := world.whole.keys() - world.look(out).keys()) and done.returncode == 0:
        raise Bad("lost", f"{len(missing)} trials in a merge that succeeded ({kind})")
    for folder in (theirs, out):
        shutil.rmtree(folder, ignore_errors=True)


def foreign_folder(world: World) -> None:
    """Every verb from inside of a results folder that is full of code."""
    results, marker = world.copy(), world.home / "touched"
    trap(results, marker, "whole")
    shadow(results, marker)
    lines = ["list mechanisms", "list tasks", "list datasets", "figures --results .", "claims gs --results ."]
    lines += ["data list", "completion words", "report --results . --output ../page.html", "check epicrec/example"]
    lines += ["advise --columns 100 --users 1000 --row 4 --epsilon 1", "list readings", "list metrics"]
    lines += ["run scale=smoke dataset=[trajectory] mechanism=[evil] dry=true", "audit lpa --pairs 2"]
    line = world.dice.choice(lines)
    command = [sys.executable, "-m", "dpbench", *line.split()]
    try:
        done = subprocess.run(
            command, cwd=results, env=door.environment(), capture_output=True, text=True, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        raise Bad("hung", line) from None
    if "Traceback" in done.stderr or done.returncode < 0:
        raise Bad("crashed", done.stderr)
    if marker.exists():
        marker.unlink()
        raise Bad("silent", f"{line} ran code of the folder")
    shutil.rmtree(results)


# A record, baselines, a configuration, data.


def record(world: World) -> None:
    """Records with valid seals and any content, in every verb that reads them."""
    dice, place = world.dice, world.home / "record"
    shutil.rmtree(place, ignore_errors=True)
    for paper in ("epicrec", "cross"):
        shutil.copytree(ROOT / "results" / "record" / paper, place / paper)
    shutil.copy(ROOT / "results" / "record" / "audits.sealed", place)
    paper = dice.choice(["epicrec", "cross"])
    path = dice.choice([*sorted((place / paper).glob("*.json")), place / "audits.sealed"])
    body = seals.unseal(path.read_bytes())
    table = path.with_suffix(".csv")
    if table.exists() and dice.random() < 0.5:
        text = _csv(dice, table.read_text())
        table.write_text(text)
        body["checksum"] = seals.text_digest(text)
    elif dice.random() < 0.3:
        _texts(dice, body)
    else:
        _change(dice, body)
    path.write_text(_sealed(body))
    lines = [("figures", paper), ("claims", "epicrec"), ("compare", "--record"), ("report", "--output", "page.html")]
    lines += [("advise", "--columns", "2000", "--users", "1e4", "--row", "9", "--epsilon", "0.5")]
    lines += [("figures", paper), ("reproduce", "epicrec/example", "--scale", "smoke", "--jobs", "1")]
    words = dice.choice(lines)
    extra = {"DPBENCH_RECORD": str(place)}
    world.call(*words, *(["--results", "from-record"] if words[0] in ("figures", "claims") else []), env=extra)
    _clean_page(world)


def baselines(world: World) -> None:
    source = ROOT / "results" / "baselines" / "epicrec" / "example.json"
    path = world.home / "baselines" / "epicrec" / "example.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source.read_bytes())
    kind = world.dice.random()
    if kind < 0.25:
        path.write_text(world.dice.choice(DEEP))
    elif kind < 0.7:
        body = json.loads(path.read_text())
        _change(world.dice, body)
        path.write_text(json.dumps(body))
    else:
        harm(world.dice, [path])
    format_ = world.dice.choice([(), ("--fresh", "3"), ("--junit", "junit.xml"), ("--summary", "summary.md")])
    world.call("check", "epicrec/example", "--baselines", "baselines", "--jobs", "1", "--results", "gate", *format_)


def configuration(world: World) -> None:
    """A file of every group of options, read by `list`, completion, claims and a run that chooses it."""
    group = world.dice.choice(VERBS)
    folder = world.home / "theirs"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / group).mkdir(parents=True)
    text = world.dice.choice([*BOMBS, *BOMBS, *TEXTS])
    if world.dice.random() < 0.3:
        text = f"odd:\n  class: lpa\n  source: generator\n  value: {text[:20_000]!r}\n"
    (folder / group / "odd.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    small = ("scale=smoke", "dataset=[trajectory]", "mechanism=[lpa]", "dry=true")
    lines: dict[str, tuple[tuple[str, ...], ...]] = {
        "claims": (("claims", "odd", "--config-dir", "theirs"),),
        "readings": (("list", "readings", "--config-dir", "theirs"), ("run", "--config-dir", "theirs", *small)),
        "experiment": (("run", "--config-dir", "theirs", "experiment=odd", "scale=smoke", "dry=true"),),
    }
    chosen = ("run", "--config-dir", "theirs", *small, f"{group}=[odd]")
    others = (chosen, chosen, ("list", f"{group}s", "--config-dir", "theirs"))
    world.call(*world.dice.choice(lines.get(group, others)))
    if (world.home / "touched").exists():
        raise Bad("silent", "the configuration ran a command")


def data_files(world: World) -> None:
    """A table of the user's from somewhere else: no text of it is a command, no file unpacks without end."""
    dice = world.dice
    name, content = dice.choice(list(_tables(dice)))
    path = world.home / name
    path.write_bytes(content)
    table = ("dataset=table", f"dataset.table.path={name}", "dataset.table.user=who", "dataset.table.item=place")
    words = ("run", "scale=smoke", "mechanism=[lpa]", "trials=2", "runner.jobs=1", "tracking=none", "name=data")
    world.call(*words, *table, "results=data")
    world.call("report", "--results", "data", "--output", "page.html") if dice.random() < 0.1 else None
    _clean_page(world)
    path.unlink()


# A network and a terminal.


def server(world: World) -> None:
    """A tracking server, a scheduler or a server of files that answers nonsense, or nothing."""
    answers = [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", os.urandom(2000), b"x"]
    answers += [
        b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000,
        b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
    ]
    answer = world.dice.choice([*answers, b"HTTP/1.1 500 \x1b[31m\r\n\r\n", (1 << 40).to_bytes(8, "little") * 50])
    holds = world.dice.random() < 0.2  # then every limit of time has to pass
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            held = []
            while True:
                try:
                    line, _ = listening.accept()
                    line.sendall(answer)
                    held.append(line) if holds else line.close()
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        kind = world.dice.choice(["tracking", "scheduler", "files"])
        if kind == "tracking":
            world.call("track", "whole", "--results", "undisturbed", "--uri", f"http://{address}")
        elif kind == "files":
            proxy = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), f"http://{address}")
            world.call("data", "get", world.dice.choice(["transactions", "kos"]), env=proxy | {"no_proxy": ""})
        else:
            words = ("runner=dask", f"runner.address=tcp://{address}", "results=dask")
            world.call(*[word for word in WORDS if not word.startswith("runner")], *words, status=(1, 2))


def command_lines(world: World) -> None:
    while (words := command_line(world.dice.randrange(10**6)))[0] in ("bench", "reproduce", "audit", "report", "check"):
        continue
    world.call(*words, status=(0, 1, 2))


# What is in them.


def _sealed(body: dict[str, Any]) -> str:
    """With a valid seal, whatever the numbers are: `json` writes NaN, too."""
    return seals.seal({key: value for key, value in body.items() if key != seals.KEY})


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _change(dice: random.Random, body: dict[str, Any]) -> None:
    """Another value for one field at any depth."""
    place: Any = body
    while True:
        keys = [*place] if isinstance(place, dict) else [*range(len(place))]
        if not keys:
            return
        key = dice.choice(keys)
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or dice.random() < 0.2:
            place[key] = dice.choice(ODD)
            return
        place = inner


def _texts(dice: random.Random, body: Any) -> None:
    """One text in half of the fields that are texts."""
    text = dice.choice(TEXTS)

    def fill(place: Any) -> None:
        for key in [*place] if isinstance(place, dict) else range(len(place)):
            if isinstance(place[key], dict | list):
                fill(place[key])
            elif isinstance(place[key], str) and dice.random() < 0.5:
                place[key] = text

    fill(body)


def _columns(dice: random.Random) -> bytes:
    """A trial file with texts of theirs as names and as values."""
    trials = 6
    columns: dict[str, Any] = {"trial": pa.array(range(trials), pa.int64()), "seconds": [0.1] * trials}
    columns["metric.mae"] = dice.choice([[0.1] * trials, [float("nan")] * trials, [1e308] * trials, ["x"] * trials])
    for prefix in ("chosen", "metric", "diagnostic", "expected"):
        columns[f"{prefix}.{_encodable(dice.choice(TEXTS))}"] = [_encodable(dice.choice(TEXTS))] * trials
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, **PLAIN)
    return sink.getvalue().to_pybytes()


def _csv(dice: random.Random, text: str) -> str:
    """The numbers of a figure with another content of a cell, a column, or all of it."""
    lines = [line.split(",") for line in text.splitlines()]
    kind = dice.randrange(5)
    word = _encodable(dice.choice(["", "nan", "inf", "1e999", "-5", *TEXTS]))
    if kind == 0:
        return dice.choice(["", "a,b\n1,2,3\n1\n", "x" * 100_000, '"', "a,a\n1,2\n", "\x00", lines[0][0] + "\n"])
    column = dice.randrange(len(lines[0]))
    if kind == 1:
        lines[0][column] = word
    elif kind == 2:
        lines = [[cell for number, cell in enumerate(line) if number != column] for line in lines]
    else:
        for line in lines[1:] if kind == 3 else lines[1:2]:
            if column < len(line):
                line[column] = word
    return "".join(",".join(line) + "\n" for line in lines)


def _tables(dice: random.Random) -> Iterator[tuple[str, bytes]]:
    rows = [f"u{n % 20},p{n % 7}" for n in range(60)]
    for text in TEXTS:
        word = '"' + _encodable(text).replace('"', '""') + '"'
        yield "odd.csv", "\n".join(["who,place", *rows, f"{word},{word}"]).encode()
        yield "odd.csv", "\n".join([f"who,place,{word}", *(f"{row},1" for row in rows)]).encode()
    yield "odd.csv", dice.randbytes(3000)
    yield "odd.csv", b"who;place\n" + b"a;b\n" * 20
    yield "odd.tsv", b"who\tplace\n" + b'"' * 5000
    yield "odd.csv", b"who,place\n" + b"a" * 5_000_000
    yield "odd.csv", b"who,place\n" + b"a,b\n" * 9 + b"a,b,c,d\n\x00,\x00\n"
    yield "odd.csv", "\ufeffwho,place\na,b\n".encode("utf-16")
    yield (
        "odd.csv.gz",
        gzip.compress(b"who,place\n" + b"0" * 300_000_000, 9) if dice.random() < 0.1 else b"\x1f\x8b\x08",
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<a>" * 10_000)
        archive.writestr("../../evil", SCRIPT)
    yield "odd.xlsx", packed.getvalue()
    yield "odd.xls", b"\xd0\xcf\x11\xe0" + bytes(500)
    yield "odd.parquet", b"PAR1" + dice.randbytes(200) + b"PAR1"
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"who": [SCRIPT, "\x1b[31m"] * 9, "place": ["\u202ea"] * 18}), sink)
    yield "odd.parquet", sink.getvalue().to_pybytes()


# What is asked afterwards.


def _shown(world: World, results: Path) -> None:
    """What others sent does not disturb what is ours, and nothing of it reaches the terminal or the page as a command."""
    verbs: list[tuple[str, ...]] = [("figures", "--results", results.name), ("claims", "gs", "--results", results.name)]
    verbs += [("report", "--results", results.name, "--output", "page.html")] if world.dice.random() < 0.15 else []
    verbs += [("track", "--results", results.name)] if world.dice.random() < 0.1 else []
    for words in verbs:
        done = world.call(*words)
        if words[0] == "figures" and "whole" not in done.stdout:
            raise Bad("lost", f"the other run is not drawn: {done.stderr}")
    _clean_page(world)
    for path in results.glob("figures/**/*.csv"):
        if CONTROL.search(path.read_text(errors="replace").replace("\r", "")):
            raise Bad("silent", f"{path} holds text that controls a terminal")
    world.settle(results)


def _clean_page(world: World) -> None:
    page = world.home / "page.html"
    if page.exists():
        text = page.read_text()
        page.unlink()
        if "<script>alert(1)" in text:
            raise Bad("silent", "a text of theirs is a script on the page")
