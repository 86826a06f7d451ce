"""MLflow: one entry per setting with means and standard errors; it never delays a run and logs nothing twice."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.results import tracking, tracking_bulk
from dpbench.results.store import Store
from dpbench.results.tracking import TrackerDown, track

from support.paths import ROOT
from support.stores import filled, name_of, rows, run

Call = Callable[..., "subprocess.CompletedProcess[str]"]
QUICK = ("run", "experiment=gs/fig9", "scale=smoke", "dataset=[trajectory]", "mechanism=[lpa,alpa]", "epsilon=[1]")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database: making one takes MLflow seconds."""
    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    tracking._client(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def results(tmp_path: Path, database: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    shutil.copy(database, folder)
    return folder


def entries(results: Path) -> dict[str, list[Any]]:
    """What MLflow has, by the setting's tag (empty: the figure)."""
    client = tracking._client(tracking.default_uri(results))
    experiments = [e.experiment_id for e in client.search_experiments() if e.name != "Default"]
    found: dict[str, list[Any]] = {}
    for entry in client.search_runs(experiments, max_results=5000) if experiments else ():
        found.setdefault(entry.data.tags.get(tracking.SETTING_TAG, ""), []).append(entry)
    return found


def test_an_entry_holds_means_errors_trials_parameters_and_tags(results: Path) -> None:
    made = filled(results, 2, repetitions=6)
    assert track(made, None) == 2
    found = entries(results)
    assert sorted(found) == sorted([name_of(0), name_of(1)])
    for number in range(2):
        (entry,) = found[name_of(number)]
        maes = [r["metric.mae"] for r in rows(range(6), number)]
        told = entry.data.metrics
        assert told["trials"] == 6
        assert told["mae"] == pytest.approx(np.mean(maes))
        assert told["mae_se"] == pytest.approx(np.std(maes, ddof=1) / np.sqrt(6))
        assert told["seconds"] == 0.25
        variances = [r["metric.pair_variance"] for r in rows(range(6), number)][1::2]
        assert told["variance"] == pytest.approx(np.mean(variances))
        assert not any("pair_" in name for name in told)
        assert entry.data.params["mechanism.number"] == str(number)
        assert entry.data.params["epsilon"] == "0.5"
        tags = {name.removeprefix("dpbench."): tag for name, tag in entry.data.tags.items() if "dpbench." in name}
        assert tags.pop("setting") == name_of(number)
        assert tags == {
            "trials": "6",
            "scale": "smoke",
            "seed": "7",
            "commit": "abc",
            "data": "generated, seed 3",
            "guarantee": "ε",
            "noise": "float",
            "private": "yes",
        }
        assert entry.info.status == "FINISHED"
        assert entry.info.run_name == str(made.settings[number])


def told(entry: Any, database: Path) -> dict[str, Any]:
    """All that MLflow says of an entry but its id and its times, the history of its metrics included."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{database}")
    info = {k: v for k, v in dict(entry.info).items() if not k.endswith(("_time", "_id", "_uuid", "_uri"))}
    steps = {
        m: [(h.value, h.step) for h in client.get_metric_history(entry.info.run_id, m)] for m in entry.data.metrics
    }
    place = entry.info.artifact_uri.replace(entry.info.run_id, "RUN").rpartition("mlartifacts")[2]
    return {"info": info, "params": entry.data.params, "tags": entry.data.tags, "steps": steps, "place": place}


def test_many_at_a_time_are_what_the_public_calls_make(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And where the tables are others, nothing is written and the public calls do it."""
    made = filled(results, 3, repetitions=4)
    empty = (results / "mlflow.db").read_bytes()
    assert tracking_bulk.can_log(tracking._client(tracking.default_uri(results)))
    assert track(made, None) == 3
    quick = {name: told(entry, results / "mlflow.db") for name, (entry,) in entries(results).items()}
    other = results.parent / "other"
    filled(other, 3, repetitions=4)
    (other / "mlflow.db").write_bytes(empty)
    monkeypatch.setattr(tracking_bulk, "_run", lambda *_: {"run_uuid": "x", "no_such_column": 1})
    assert track(run(other, 3, repetitions=4), None) == 3
    assert {name: told(entry, other / "mlflow.db") for name, (entry,) in entries(other).items()} == quick


def test_more_trials_bring_the_same_entry_up_to_date(results: Path) -> None:
    made = filled(results, 2, repetitions=4)
    assert track(made, None) == 2
    assert track(made, None) == 0
    first = entries(results)
    Store(results).write(name_of(1), rows(range(4, 8), 1), "")
    more = run(results, 2, repetitions=8)
    assert track(more, None) == 1, "only the setting that has more"
    second = entries(results)
    assert {name: [e.info.run_id for e in es] for name, es in first.items()} == {
        name: [e.info.run_id for e in es] for name, es in second.items()
    }
    assert [second[name_of(i)][0].data.metrics["trials"] for i in range(2)] == [4, 8]
    maes = [r["metric.mae"] for r in rows(range(8), 1)]
    assert second[name_of(1)][0].data.metrics["mae"] == pytest.approx(np.mean(maes))
    assert track(made, None) == 0, "fewer trials than logged change nothing"


def test_an_entry_that_was_cut_off_is_completed(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever call was the last to arrive: afterwards there is one entry per setting, with everything."""
    from mlflow.tracking import MlflowClient

    made = filled(results, 2, repetitions=4)
    monkeypatch.setattr(tracking_bulk, "can_log", lambda _: False)  # many at a time are all there or none

    def down(*_: object, **__: object) -> None:
        raise ConnectionError("gone")

    for call in ("log_batch", "set_terminated"):
        with monkeypatch.context() as patch:
            patch.setattr(MlflowClient, call, down)
            with pytest.raises(TrackerDown, match="gone"):
                track(made, None)
    assert track(made, None) == 1, "the first one has all its numbers since the second attempt"
    found = entries(results)
    assert [len(found[name_of(i)]) for i in range(2)] == [1, 1]
    for (entry,) in found.values():
        assert entry.data.params["mechanism"] == "lpa"
        assert entry.data.metrics["trials"] == 4


def test_the_figure_is_an_artifact_and_is_replaced(results: Path) -> None:
    figure = results / "figures" / "fig9.png"
    figure.parent.mkdir()
    made = filled(results, 1, repetitions=4)
    assert track(made, None) == 1
    figure.write_text("first")
    assert track(made, None, [figure]) == 0, "the settings are there, the figure is not"
    (entry,) = entries(results)[""]
    kept = list((results / "mlartifacts").rglob("fig9.png"))
    assert [p.read_text() for p in kept] == ["first"]
    assert entry.info.run_id in str(kept[0])
    Store(results).write(name_of(0), rows(range(4, 6)), "")
    figure.write_text("second")
    track(run(results, 1, repetitions=6), None, [figure])
    assert [p.read_text() for p in (results / "mlartifacts").rglob("fig9.png")] == ["second"]
    assert len(entries(results)[""]) == 1


@pytest.mark.parametrize("way", ["another folder", "dots", "a link"])
def test_a_database_that_keeps_files_elsewhere_gets_no_figure(results: Path, tmp_path: Path, way: str) -> None:
    """Somebody else's database could name any folder of the user."""
    precious = tmp_path / "precious"
    precious.mkdir()
    place, own = precious.as_uri(), (results / "mlartifacts").resolve()
    if way == "dots":
        place = f"{own.as_uri()}/../../precious"
    if way == "a link":
        own.mkdir(parents=True)
        (own / "1").symlink_to(precious)
        place = f"{own.as_uri()}/1"
    client = tracking._client(tracking.default_uri(results))
    client.create_experiment("gs/fig9 (smoke)", artifact_location=place)
    figure = tmp_path / "fig9.png"
    figure.write_text("png")
    made = filled(results, 1)
    with pytest.raises(TrackerDown, match="keeps files elsewhere"):
        track(made, None, [figure])
    assert list(precious.iterdir()) == []
    assert len(entries(results)[name_of(0)]) == 1


def test_a_database_that_is_a_link_is_not_opened(tmp_path: Path, database: Path) -> None:
    made = filled(tmp_path / "results", 1)
    before = database.read_bytes()
    (tmp_path / "results" / "mlflow.db").symlink_to(database)
    with pytest.raises(TrackerDown, match="link"):
        track(made, None)
    assert database.read_bytes() == before


def test_two_processes_make_one_entry_per_setting(results: Path) -> None:
    """Also on a new database, which they would tear apart in making it."""
    (results / "mlflow.db").unlink()
    made = filled(results, 5, repetitions=4)
    code = f"""if True:
        from dpbench.results.run import Run
        from dpbench.results.tracking import track
        print(track(Run.load({str(results)!r}, "gs/fig9"), None))
    """
    command = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(int(p.communicate(timeout=120)[0]) for p in both) == [0, 5]
    assert [len(found) for found in entries(results).values()] == [1] * len(made.settings)


@pytest.fixture
def bad_server() -> Iterator[Callable[[bool], str]]:
    """Takes connections and never answers, or answers one byte at a time for ever."""
    stop = threading.Event()
    sockets: list[socket.socket] = []

    def start(drips: bool) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        sockets.append(listener)

        def serve(connection: socket.socket) -> None:
            if drips:
                connection.recv(65536)
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
                )
            while not stop.wait(0.2):
                try:
                    connection.sendall(b" " if drips else b"")
                except OSError:
                    return

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                sockets.append(connection)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    stop.set()
    for opened in sockets:
        opened.close()


@pytest.mark.parametrize("drips", [True, False])
def test_a_server_that_does_not_answer_holds_nobody_up(
    results: Path, bad_server: Callable[[bool], str], drips: bool
) -> None:
    """The time limit holds, and the process ends after it, although the call still hangs."""
    filled(results, 2, repetitions=4)
    code = f"""if True:
        import time
        import mlflow
        from dpbench.results import tracking, tracking_bulk
        from dpbench.results.run import Run
        tracking.PATIENCE, tracking.EACH = 1.5, 0.25
        began = time.monotonic()
        try:
            tracking.track(Run.load({str(results)!r}, "gs/fig9"), {bad_server(drips)!r})
        except tracking.TrackerDown as problem:
            print(problem, "|", time.monotonic() - began, "|", time.time())
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    over = time.time()
    text, waited, said = done.stdout.split("|")
    assert "did not accept them within 2 s" in text
    assert 2 <= float(waited) < 6
    assert over - float(said) < 6
    assert done.returncode == 0


def test_runs_are_logged_once_and_later_when_the_tracker_was_down(dpbench: Call, tmp_path: Path) -> None:
    down = dpbench(*QUICK, "trials=5", "tracking.uri=http://127.0.0.1:9", "figure=false")
    assert down.returncode == 0
    assert "warning" in down.stderr
    assert "python -m dpbench track" in down.stderr
    assert "gs/fig9: 2 settings logged" in dpbench("track").stdout
    assert "gs/fig9: 0 settings logged" in dpbench("track").stdout
    done = dpbench(*QUICK, "trials=7")
    assert "warning" not in done.stderr
    found = entries(tmp_path / "results")
    assert sorted(e.data.params["mechanism"] for name, es in found.items() for e in es if name) == ["alpa", "lpa"]
    assert {e.data.metrics["trials"] for name, es in found.items() for e in es if name} == {7}
    assert {p.suffix for p in (tmp_path / "results" / "mlartifacts").rglob("fig9.*")} == {".png", ".pdf", ".csv"}


@pytest.mark.slow
def test_a_thousand_settings_are_logged_in_half_a_minute(results: Path) -> None:
    """Of processor time, as the machine may have other work; the disk is not waited for."""
    made = filled(results, 1000, repetitions=4)
    began = time.process_time()
    assert track(made, None) == 1000
    assert time.process_time() - began < 30
    began = time.process_time()
    assert track(made, None) == 0
    assert time.process_time() - began < 5
