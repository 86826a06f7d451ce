"""Fuzzed command lines over every verb: an exit status and one line, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.cli import main

from support.fuzz import command_line


def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verbs that would measure for minutes, or ask the network, do neither."""
    from dpbench.auditing import parallel
    from dpbench.auditing.cache import Answer
    from dpbench.bench.base import FloorRow
    from dpbench.claims import replays
    from dpbench.cli import bench, check
    from dpbench.model.finding import Finding
    from dpbench.sources.download import fetch

    def refuse(*_: object, **__: object) -> None:
        raise fetch.FetchError("there is no network in a test")

    monkeypatch.setattr(fetch, "fetch", refuse)
    finding = Finding("lpa", "", "replay", "ε", 1.0, 0.0, 1.0, "holds", 1)
    monkeypatch.setattr(parallel, "findings_of_all", lambda subjects, _: (finding for _ in subjects))
    monkeypatch.setattr(replays, "_replayed", lambda choice, *_: replays.Replayed(choice, Answer(1.0, 1, "replay")))
    monkeypatch.setattr(check, "_measure", lambda *_: {})
    for name in bench.BENCHES:
        monkeypatch.setitem(bench.BENCHES, name, lambda: iter([FloorRow("x", "1 s", "2 s", True)]))


@pytest.mark.parametrize("block", range(5))
def test_fuzzed_command_lines(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """150 of them, from fixed seeds: an exit status, and a line for `run` that is wrong. Before, one in a hundred gave a
    traceback."""
    monkeypatch.chdir(tmp_path)
    cheap(monkeypatch)
    for seed in range(30 * block, 30 * block + 30):
        words = command_line(seed)
        try:
            status = main(words)
        except SystemExit as end:  # argparse
            status = int(end.code or 0)
        shown = capsys.readouterr()
        assert status in (0, 1, 2), words
        assert "Traceback" not in shown.err, words
        if words[0] == "run" and status == 2:
            assert shown.err.startswith("dpbench: "), words
            assert shown.err.count("\n") == 1, (words, shown.err)
    assert not (tmp_path / "results" / "trials").exists(), "dry means dry"
