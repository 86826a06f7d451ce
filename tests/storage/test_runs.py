"""Runs: what is saved is loaded, every damage is noticed, and a name cannot lead out of the folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpbench.errors import Damaged, Failed, UserError
from dpbench.model.run import Run, valid_name
from dpbench.storage import seals
from dpbench.storage.commands import nothing_stored, stored

from support.stores import filled, name_of, run, setting

Change = Callable[[dict[str, Any]], object]


def forged(results: Path, change: Change, path: str | None = None) -> Path:
    """A run file with a change, sealed properly, as anybody can."""
    made = run(results)
    made.save()
    body = seals.unseal(made.path.read_bytes())
    made.path.unlink()
    change(body)
    target = results / "runs" / path if path else made.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(seals.seal(body))
    return target


def loads_nothing(results: Path, path: Path) -> str:
    """The warning that names the file, which is set aside."""
    with pytest.warns(Damaged, match="is damaged") as caught:
        assert Run.all(results) == {}
    assert len(caught) == 1
    text = str(caught[0].message)
    assert str(path) in text
    assert not path.exists()
    assert len(list((results / "damaged").iterdir())) == 1
    return text


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    made = run(tmp_path, 3)
    path = made.save()
    assert path == tmp_path / "runs" / "gs" / "fig9@smoke.json"
    back = Run.load(tmp_path, "gs/fig9")
    assert back == made
    assert back.results == tmp_path
    assert hash(back.settings[0].dataset.name) == hash(made.settings[0].dataset.name)
    assert back.save() == path
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [path], "nothing is left aside"


def test_what_settings_share_is_stored_once(tmp_path: Path) -> None:
    made = run(tmp_path, [setting(i, dataset=name) for name in ("small", "kos") for i in range(3)])
    body = seals.unseal(made.save().read_bytes())
    assert [len(body[name]) for name in ("datasets", "mechanisms", "tasks", "settings")] == [2, 3, 1, 6]
    assert Run.load(tmp_path, "gs/fig9") == made


def test_a_file_of_the_version_before_is_read(tmp_path: Path) -> None:
    """It repeated dataset, mechanism and task in every setting."""
    made = run(tmp_path, 3)
    made.path.parent.mkdir(parents=True)
    made.path.write_text(seals.seal({"schema": 5, **seals.plain(made)}))
    assert Run.load(tmp_path, "gs/fig9") == made


def test_parameters_of_any_kind_come_back(tmp_path: Path) -> None:
    params = {"a": None, "b": True, "c": "häß", "d": 0.1, "e": 3, "f": [1, "x"], "g": {"h": 1}}
    one = setting()
    made = run(tmp_path, [replace(one, mechanism=replace(one.mechanism, params=params))])
    made.save()
    assert Run.load(tmp_path, "gs/fig9") == made


def test_the_newest_of_its_name_wins_whatever_the_time_of_the_file(tmp_path: Path) -> None:
    run(tmp_path, scale="laptop", written="2024-05-02T00:00:00.000000+00:00").save()
    run(tmp_path, scale="smoke", written="2024-05-01T00:00:00.000000+00:00").save()
    assert Run.load(tmp_path, "gs/fig9").scale == "laptop"
    assert Run.load(tmp_path, "gs/fig9", scale="smoke").scale == "smoke"
    assert Run.all(tmp_path)["gs/fig9"].scale == "laptop"
    assert Run.all(tmp_path, "paper") == {}


def test_runs_with_other_datasets_from_files_stand_side_by_side(tmp_path: Path) -> None:
    generated = run(tmp_path, [setting(0), setting(1, dataset="kos")], written="2024-01-01")
    one = run(tmp_path, [setting(0, original=True), setting(1, dataset="kos")], written="2024-01-02")
    both = run(tmp_path, [setting(0, original=True), setting(1, dataset="kos", original=True)], written="2024-01-03")
    assert len({made.save() for made in (generated, one, both)}) == 3
    assert Run.load(tmp_path, "gs/fig9") == both
    assert Run.load(tmp_path, "gs/fig9", files=()) == generated
    assert Run.load(tmp_path, "gs/fig9", files="small") == one
    assert Run.load(tmp_path, "gs/fig9", files=["kos", "small"]) == both
    with pytest.raises(UserError, match="holds no run"):
        Run.load(tmp_path, "gs/fig9", files="kos")


def test_a_dataset_named_with_a_slash_is_found_again(tmp_path: Path) -> None:
    made = run(tmp_path, [setting(0, original=True, dataset="own/small")])
    made.save()
    assert Run.load(tmp_path, "gs/fig9") == made


def test_every_byte_counts(tmp_path: Path) -> None:
    made = run(tmp_path)
    made.save()
    content = made.path.read_bytes()
    cases = [content[:i] + bytes([content[i] ^ 2]) + content[i + 1 :] for i in range(len(content))]
    cases += [content[:i] for i in range(0, len(content), 101)] + [content + b" ", b"", b"[]", b"{}", b"null", b"3"]
    for damage in cases:
        made.path.write_bytes(damage)
        with pytest.warns(Damaged, match=r"fig9@smoke.json is damaged"):
            assert Run.all(tmp_path) == {}
        assert not made.path.exists()
    made.path.write_bytes(content)
    assert Run.load(tmp_path, "gs/fig9") == made


def test_a_copy_under_another_name_is_set_aside(tmp_path: Path) -> None:
    made = run(tmp_path)
    made.save()
    copies = ["gs/fig9@paper", "gs/fig7@smoke", "fig9@smoke", "gs/deep/fig9@smoke", "gs/fig9@smoke+small"]
    for name in copies:
        path = tmp_path / "runs" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made.path.read_bytes())
    with pytest.warns(Damaged, match="does not match the file name") as caught:
        assert list(Run.all(tmp_path).values()) == [made]
    assert len(caught) == len(copies)


BAD: dict[str, Change] = {
    "absolute name": lambda body: body["run"].update(name="/tmp/evil"),
    "name upwards": lambda body: body["run"].update(name="../evil"),
    "name upwards inside": lambda body: body["run"].update(name="gs/../../evil"),
    "hidden name": lambda body: body["run"].update(name=".evil"),
    "empty name": lambda body: body["run"].update(name=""),
    "scale upwards": lambda body: body["run"].update(scale="../../x"),
    "name of another type": lambda body: body["run"].update(name=["gs/fig9"]),
    "id upwards": lambda body: body["settings"][0].update(id="../../../../tmp"),
    "short id": lambda body: body["settings"][0].update(id="ab"),
    "id in capitals": lambda body: body["settings"][0].update(id=name_of(0).upper()),
    "id with a line": lambda body: body["settings"][0].update(id=name_of(0) + "\n"),
    "dataset upwards": lambda body: body["datasets"][0].update(name="../../etc/passwd"),
    "absolute dataset": lambda body: body["datasets"][0].update(name="/etc/passwd"),
    "mechanism upwards": lambda body: body["mechanisms"][0].update(name="a/../b"),
    "task with markup": lambda body: body["tasks"][0].update(name="<b>"),
    "another version": lambda body: body.update(schema=1),
    "no version": lambda body: body.pop("schema"),
    "a field too many": lambda body: body["run"].update(results="/tmp"),
    "a field missing": lambda body: body["run"].pop("seed"),
    "a setting that is a word": lambda body: body.update(settings=["word"]),
    "settings that are a word": lambda body: body.update(settings="word"),
    "settings that are none": lambda body: body.update(settings=None),
    "epsilon as a word": lambda body: body["settings"][0].update(epsilon="1; import os"),
    "trials as a word": lambda body: body["run"].update(repetitions="6"),
    "trials as true": lambda body: body["run"].update(repetitions=True),
    "title as a list": lambda body: body["run"].update(title=["x"]),
    "changes as a word": lambda body: body["run"].update(changes="abc"),
    "left out by three": lambda body: body["run"].update(left_out=[["a", "b", "c"]]),
    "environment as a list": lambda body: body["run"].update(environment=[]),
    "versions as a list": lambda body: body["run"]["environment"].update(versions=["numpy"]),
    "params as a list": lambda body: body["mechanisms"][0].update(params=[1]),
    "statistics as words": lambda body: body["datasets"][0].update(statistics={"rows": "many"}),
    "a dataset that is not there": lambda body: body["settings"][0].update(dataset=1),
    "a task before the first": lambda body: body["settings"][0].update(task=-1),
    "a parameter that is not there": lambda body: body["datasets"][0].update(given=["size"]),
}


@pytest.mark.parametrize("what", BAD)
def test_a_sealed_file_that_no_run_wrote_is_set_aside(tmp_path: Path, what: str) -> None:
    path = forged(tmp_path, BAD[what])
    loads_nothing(tmp_path, path)


@pytest.mark.parametrize(
    "name", ["/tmp/evil", "../evil", "gs/../../evil", "a//b", "a/", "é è", "x@y", "a+b", "a" * 201]
)
def test_names_that_lead_elsewhere_are_not_valid(tmp_path: Path, name: str) -> None:
    assert not valid_name(name)
    with pytest.raises(UserError, match="is not valid"):
        run(tmp_path, name=name).save()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["gs/fig9", "mine", "my-own_2.run", "été", "a/b/c"])
def test_names_that_a_user_may_give(tmp_path: Path, name: str) -> None:
    assert valid_name(name)
    made = run(tmp_path, name=name)
    made.save()
    assert Run.load(tmp_path, name) == made


def test_what_drives_a_terminal_is_taken_out(tmp_path: Path) -> None:
    """Control characters in texts that are printed; lines of text stay."""
    forged(tmp_path, lambda body: body["run"].update(title="a\x1b[2Jb\nc\x9b\ud800", changes=["\x07x"]))
    found = Run.load(tmp_path, "gs/fig9")
    assert found.title == "a?[2Jb\nc??"
    assert found.changes == ("?x",)


def test_links_are_not_followed(tmp_path: Path) -> None:
    other = run(tmp_path / "other")
    other.save()
    content = other.path.read_bytes()
    link = tmp_path / "results" / "runs" / "gs" / "fig9@smoke.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(other.path)
    assert "link" in loads_nothing(tmp_path / "results", link)
    assert other.path.read_bytes() == content
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "runs").symlink_to(tmp_path / "other" / "runs")
    with pytest.raises(Failed, match="link"):
        Run.all(tmp_path / "linked")
    with pytest.raises(Failed, match="link"):
        run(tmp_path / "linked").save()
    (tmp_path / "whole").symlink_to(tmp_path / "other")
    assert Run.load(tmp_path / "whole", "gs/fig9") == other, "the folder itself may be a link of its user"


def test_what_cannot_be_read_is_told_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run(tmp_path)
    made.save()

    def refuse(self: Path) -> bytes:
        raise OSError(5, "Input/output error", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        with pytest.warns(Damaged, match=r"cannot be read \(Input/output error\)"):
            assert Run.all(tmp_path) == {}
    assert Run.load(tmp_path, "gs/fig9") == made


def test_an_old_folder_is_reported_as_old(tmp_path: Path) -> None:
    (tmp_path / "plans" / "gs").mkdir(parents=True)
    (tmp_path / "plans" / "gs" / "fig9@smoke.json").write_text("{}")
    for error in (nothing_stored(tmp_path, "gs/fig9", None), nothing_stored(tmp_path, None, "smoke")):
        assert "earlier version of dpbench" in str(error)
    with pytest.raises(UserError, match="earlier version"):
        stored(tmp_path)


def test_a_folder_without_the_run_says_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        Run.load(tmp_path / "nowhere", "gs/fig9")
    with pytest.raises(UserError, match="holds no run:"):
        Run.load(tmp_path, "gs/fig9")
    run(tmp_path).save()
    with pytest.raises(UserError, match="holds no run of gs/fig7"):
        Run.load(tmp_path, "gs/fig7")
    with pytest.raises(UserError, match="holds no run of scale paper, only of smoke"):
        stored(tmp_path, "paper")


def test_remarks_count_what_is_stored(tmp_path: Path) -> None:
    made = filled(tmp_path, 2, repetitions=6, chunk=2)
    assert not any("not finished" in text for text in made.remarks())
    next((tmp_path / "trials").rglob("000002-*.parquet")).unlink()
    assert any("not finished: 10 of 12 trials" in text for text in made.remarks())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(made.trials()) == 10


def test_a_run_without_trials_has_an_empty_summary(tmp_path: Path) -> None:
    made = run(tmp_path)
    made.save()
    assert made.trials().empty
    assert made.summary().empty
