"""One odd run file among good ones: it is shown or set aside, and everything else goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from support.hostile import Body, filled, forged

Call = Callable[..., subprocess.CompletedProcess[str]]

ODD: dict[str, Callable[[Body], object]] = {
    "formula": lambda body: body["run"].update(title=r"$\frac{$", metrics=[r"$\frac{$"] * 50),
    "repetitions": lambda body: body["run"].update(repetitions=2**64),
    "listed": lambda body: body["mechanisms"][0].update(params=[1]),
    "seed": lambda body: body["run"].update(seed=10**400),
    "parameter": lambda body: body["mechanisms"][0].update(params={"number": 10**400}),
    "name": lambda body: body["mechanisms"][0].update(name="m" * 100_000),
    "label": lambda body: body["mechanisms"][0].update(params={"number": "x" * 100_000}),
    "epsilon": lambda body: body["settings"][0].update(epsilon=1e308),
    "time": lambda body: body["run"].update(written="x" * 1000),
}
SHOWN = ("formula", "epsilon", "time")


def test_odd_runs_do_not_block_the_others(dpbench: Call, tmp_path: Path) -> None:
    for name, change in ODD.items():
        forged(tmp_path / "results", change, name=f"odd-{name}")
    filled(tmp_path / "results", 2, name="good")
    done = dpbench("report", "--output", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    page = (tmp_path / "page.html").read_text()
    assert "good" in page
    for name in ODD:
        if name in SHOWN:
            assert f"odd-{name}" in page
        else:
            assert f"odd-{name}@smoke.json is damaged" in done.stderr
    assert max(map(len, done.stderr.splitlines())) < 1000
    done = dpbench("figures", cwd=tmp_path)
    assert "good.png" in done.stdout
    assert "Traceback" not in done.stderr
    done = dpbench("track", cwd=tmp_path)
    assert "good: 2 settings logged" in done.stdout, done.stderr


def test_a_record_that_is_no_table_is_told(tmp_path: Path) -> None:
    """Empty, ragged or of other bytes, with the right checksum, in a folder that DPBENCH_RECORD names."""
    import shutil

    from dpbench.storage import seals

    from support import door
    from support.paths import ROOT

    shutil.copytree(ROOT / "results" / "record" / "epicrec", tmp_path / "record" / "epicrec")
    texts = ["", "a,b\n1,2,3\n1\n", "a" * 100_000, '"', "a,a\n1,2\n"]
    for path, text in zip(sorted((tmp_path / "record" / "epicrec").glob("*.csv")), texts, strict=False):
        body = seals.unseal(path.with_suffix(".json").read_bytes())
        path.write_text(text)
        body["checksum"] = seals.text_digest(text)
        path.with_suffix(".json").write_text(seals.seal(body))
    env = door.environment(DPBENCH_RECORD=str(tmp_path / "record"), PYTHONWARNINGS="default")
    filled(tmp_path / "results", 2, name="good")
    for words in (("report", "--output", "page.html"), ("figures", "epicrec"), ("claims", "epicrec"), ("claims",)):
        done = door.dpbench(*words, cwd=tmp_path, env=env)
        assert "Traceback" not in done.stderr, (words, done.stderr[-3000:])
        assert done.returncode in (0, 1), (words, done.stderr)
    assert "good" in (tmp_path / "page.html").read_text()
