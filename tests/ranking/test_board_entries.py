"""Entries of boards: a stranger's class enters one, is verified and published; bad entries and folders say what is wrong."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpbench.ranking import condensed
from dpbench.ranking.joint import joint_boards
from dpbench.ranking.pairwise import Measure, Samples, contest
from dpbench.ranking.submission import decode, read_all
from dpbench.storage import seals
from dpbench.storage.store import Store

from support import door

BOARD = "cross/topk"  # the cheapest one
MINE = '''
from dataclasses import dataclass
from dpbench import Bounded, Counts

@dataclass(frozen=True, kw_only=True)
class Rounded(Bounded):
    step: float = 10.0

    def publish_columns(self, columns, epsilon, noise):
        noisy = noise.laplace(columns.counts, scale=self.sensitivity(columns) / epsilon)
        return Counts(counts=self.step * (noisy / self.step).round())

@dataclass(frozen=True, kw_only=True)
class Leaky(Rounded):
    """A hundredth of the noise."""

    def publish_columns(self, columns, epsilon, noise):
        return Counts(counts=noise.laplace(columns.counts, scale=0.01 * self.sensitivity(columns) / epsilon))
'''


# Condensed trials.


@pytest.mark.parametrize("trials", [2, 5, 30])
@pytest.mark.parametrize("share", [False, True])
def test_condensed_trials_are_compared_as_trials(trials, share):
    """Centres, variances, degrees of freedom, halves and means of contests over two draws are those of the trials."""
    rng = np.random.default_rng(3)
    measure = Measure("m", share=share, steps=10 if share else 0)
    values = {who: {seed: rng.uniform(0.1, 1, trials) for seed in (0, 4)} for who in ("a", "b", "c")}
    expected = {"a": {seed: rng.uniform(0.4, 0.6, trials) for seed in (0, 4)}} if not share else {}
    least = measure.least(np.concatenate([x for own in values.values() for x in own.values()]))
    texts = {who: condensed.condense(measure, own, expected.get(who), least) for who, own in values.items()}
    ours = condensed.samples_of(measure, {who: condensed.parse(text) for who, text in texts.items()})
    theirs = Samples.of(measure, values, expected)
    for mine, his in ((contest(ours), contest(theirs)), (contest(ours).means, contest(theirs).means)):
        if his is not None:
            assert mine.centres == pytest.approx(his.centres, rel=1e-9)
            assert mine.variances == pytest.approx(his.variances, rel=1e-6)
            assert mine.freedom.tolist() == his.freedom.tolist()
    for parity in (0, 1):
        assert ours.half(parity).centres() == pytest.approx(theirs.half(parity).centres(), rel=1e-9)


def test_condensed_expectations_decide_only_among_all():
    measure, x = Measure("m"), np.array([1.0, 2.0, 3.0])
    texts = {"a": condensed.condense(measure, {0: x}, {0: np.full(3, 2.0)}, 0.0)}
    texts["zero"] = condensed.condense(measure, {0: np.full(3, 5.0)}, None, 0.0)
    both = condensed.samples_of(measure, {who: condensed.parse(text) for who, text in texts.items()})
    assert both.by_expectation
    assert contest(both).centres == pytest.approx([math.log(2), math.log(5)])
    texts["b"] = condensed.condense(measure, {0: x}, None, 0.0)
    assert not condensed.samples_of(measure, {w: condensed.parse(t) for w, t in texts.items()}).by_expectation


@pytest.mark.parametrize(
    "text", ["", "0:3", "0:3:0.5:1,2", "0:0:0.5:1,0,1,1,1,0", "0:3:0.5:nan,0,1,1,1,0", "0:3:2:1,0,1,1,1,0"]
)
def test_texts_that_hold_no_trials_are_refused(text):
    with pytest.raises(ValueError, match=r"."):
        condensed.parse(text)


def test_heavy_tails_are_found_in_condensed_trials():
    measure, quiet = Measure("m"), np.ones(30)
    disaster = np.where(np.arange(30) == 3, 1e4, 1.0)
    texts = {who: condensed.condense(measure, {0: x}, None, 0.0) for who, x in (("a", quiet), ("b", disaster))}
    assert condensed.heavy({who: [condensed.parse(text)] for who, text in texts.items()}) == {"b"}


# Through the front door.


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A folder in which `compare` was run; and what `add`, `publish` and `check` said there."""
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "mine.py").write_text(MINE)
    words = ("mine.Rounded", "--experiment", BOARD, "--no-audit", "--jobs", "1")
    ran = door.dpbench("compare", *words, cwd=folder, timeout=300)
    assert ran.returncode == 0, ran.stderr
    added = door.dpbench("board", "add", "results", "--mechanism", "mine.Rounded", cwd=folder, timeout=300)
    assert added.returncode == 0, added.stderr
    (path,) = (folder / "board").iterdir()
    return SimpleNamespace(folder=folder, added=added, path=path, entry=decode(path.read_bytes()))


def copied(stranger, to: Path) -> Path:
    for name in ("mine.py", "board"):
        source = stranger.folder / name
        shutil.copytree(source, to / name) if source.is_dir() else shutil.copy(source, to / name)
    return to / "board" / stranger.path.name


def changed(path: Path, **fields) -> Path:
    """The entry with other facts, sealed again, as its author could."""
    body = seals.unseal(path.read_bytes()) | fields
    text = seals.seal(body)
    path.write_text(text)
    return path


def test_two_commands_verify_and_publish(stranger, dpbench):
    assert "mine.Rounded: verified" in stranger.added.stdout
    assert "equal, bit for bit" in stranger.added.stderr
    assert (stranger.entry.mark, stranger.entry.rerun) == ("verified", 16)
    done = dpbench("board", "publish", "site", cwd=stranger.folder)
    assert done.returncode == 0, done.stderr
    page = (stranger.folder / "site" / "index.html").read_text()
    assert "mine.Rounded" in page
    assert "verified" in page
    assert "compare mine.Rounded --experiment cross/topk --scale smoke" in page
    assert "://" not in page.replace("http://www.w3.org", "")
    assert (stranger.folder / "site" / "entries" / stranger.path.name).read_bytes() == stranger.path.read_bytes()


def test_the_rank_is_that_of_the_comparison(stranger):
    """The same statistics from condensed trials as from the trials."""
    import dpbench

    run = dpbench.load(stranger.folder / "results", stranger_run(stranger))
    from dpbench.ranking.views import RANKING_BOARD

    told = RANKING_BOARD.numbers(run.trials(), run).drop_duplicates("who").set_index("who")
    board = next(one for one in joint_boards([stranger.entry]) if (one.experiment, one.scale) == (BOARD, "smoke"))
    for row in board.rows:
        for name in ("regret", "rank"):
            assert getattr(row, name) == pytest.approx(told.loc[row.who, name], rel=1e-6, nan_ok=True), (row.who, name)
        for name in (
            "regret_low",
            "regret_high",
        ):  # which of several rivals with equal shares is the best depends on their order
            assert getattr(row, name) == pytest.approx(told.loc[row.who, name], abs=0.005, nan_ok=True)
    assert {row.who for row in board.rows} >= {"mine.Rounded", "zero"} & {*told.index}


def stranger_run(stranger) -> str:
    (file,) = (stranger.folder / "results" / "runs").glob("**/*@smoke.json")
    return file.relative_to(stranger.folder / "results" / "runs").as_posix().removesuffix("@smoke.json")


def test_check_runs_nobodys_code(stranger, dpbench, tmp_path):
    path = copied(stranger, tmp_path)
    (tmp_path / "mine.py").write_text(MINE + "\nimport pathlib\npathlib.Path('touched').touch()\n")
    done = dpbench("board", "check", cwd=tmp_path)
    assert done.returncode == 1
    assert "stale: mine has changed since" in done.stdout
    assert not (tmp_path / "touched").exists()
    (tmp_path / "mine.py").write_text(MINE + "\n# a comment\n")
    assert dpbench("board", "check", cwd=tmp_path).returncode == 0
    changed(path, installed="0" * 32)
    assert "stale: dpbench computes this board with other code" in dpbench("board", "check", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"board": "pure gold"}, "no guarantee"),
        ({"experiment": "../../etc/passwd"}, "is no board"),
        ({"mechanism": "os.system('x')"}, "is not the name of a class"),
        ({"schema": 9}, "another version"),
        ({"rerun": 0}, "its own facts say otherwise"),
        ({"violated": True}, "its own facts say otherwise"),
        ({"table": []}, "it holds no numbers"),
        ({"table": ["who\tmechanism\tepsilon\ttrials\tsamples", "a\ta\t1\t3\t0:3:0.5:1,0,1,1,1,0"]}, "has no column"),
        ({"table": ["who\twho"]}, "one twice"),
        ({"extra": 1}, "Unexpected"),
    ],
)
def test_wrong_entries_say_what_is_wrong(stranger, tmp_path, change, problem):
    path = changed(copied(stranger, tmp_path), **change)
    (found,) = read_all(path.parent)
    assert found.entry is None
    assert problem in found.problem


def test_damaged_and_linked_entries_are_left_out(stranger, tmp_path, dpbench):
    path = copied(stranger, tmp_path)
    path.write_bytes(path.read_bytes().replace(b"verified", b"claimed!", 1))
    (path.parent / "link.json").symlink_to(stranger.path)
    (path.parent / "huge.json").write_bytes(b" " * (3 << 20))
    told = {found.path.name: found.problem for found in read_all(path.parent)}
    assert "checksum does not match" in told[path.name]
    assert "link" in told["link.json"]
    assert "bytes" in told["huge.json"]
    done = dpbench("board", "publish", "site", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "its checksum does not match" in (tmp_path / "site" / "index.html").read_text()


def test_hostile_texts_are_shown_as_texts(stranger, tmp_path, dpbench):
    path = copied(stranger, tmp_path)
    evil = "<script>alert(1)</script>[red]\x1b[2J"
    lines = [line.replace("\tmine.Rounded\t", f"\t{evil}\t", 1) for line in stranger.entry.table]
    changed(path, because=evil, mark="numbers verified", table=lines)
    done = dpbench("board", "show", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\x1b[2J" not in done.stdout
    assert dpbench("board", "publish", "site", cwd=tmp_path).returncode == 0
    page = (tmp_path / "site" / "index.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_settings_that_only_an_entry_has_take_nobodys_rank(stranger, tmp_path):
    extra = stranger.entry.table[1].split("\t")
    extra[stranger.entry.table[0].split("\t").index("epsilon")] = "77"
    path = changed(copied(stranger, tmp_path), table=[*stranger.entry.table, "\t".join(extra)])
    (found,) = read_all(path.parent)
    assert found.entry is not None
    (board,) = (b for b in joint_boards([found.entry]) if (b.experiment, b.scale) == (BOARD, "smoke"))
    assert sum(not math.isnan(row.rank) for row in board.rows) > 3


def test_a_violator_enters_without_a_rank(stranger, dpbench, tmp_path):
    path = changed(
        copied(stranger, tmp_path), violated=True, audit="violated: a loss of 9 at ε = 1", mark="numbers verified"
    )
    (found,) = read_all(path.parent)
    board = next(b for b in joint_boards([found.entry]) if (b.experiment, b.scale) == (BOARD, "smoke"))
    (row,) = (row for row in board.rows if row.who == "mine.Rounded")
    assert math.isnan(row.rank)
    assert row.mark.startswith("violated")
    done = dpbench("board", "check", cwd=tmp_path)
    assert (done.returncode, "not private: violated" in done.stdout) == (1, True)


def test_folders_that_are_not_what_the_class_computes_are_refused(stranger, dpbench, tmp_path):
    """Other code; a forged trial; a class that was not run; no class at all."""
    shutil.copytree(stranger.folder / "results", tmp_path / "results")
    (tmp_path / "mine.py").write_text(MINE.replace("10.0", "10.0 + 0.0"))
    done = dpbench("board", "add", "results", "--mechanism", "mine.Rounded", cwd=tmp_path)
    assert (done.returncode, "the entry would be foreign" in done.stderr) == (1, True)
    (tmp_path / "mine.py").write_text(MINE)
    done = dpbench("board", "add", "results", "--mechanism", "mine.Leaky", cwd=tmp_path)
    assert (done.returncode, "holds no run of mine.Leaky on a board" in done.stderr) == (2, True)
    done = dpbench("board", "add", "results", "--mechanism", "lpa(bound=3)", cwd=tmp_path)
    assert (done.returncode, "is a mechanism of dpbench" in done.stderr) == (2, True)
    store = Store(tmp_path / "results")
    import dpbench as package

    run = package.load(tmp_path / "results", stranger_run(stranger))
    for setting in (s for s in run.settings if s.mechanism.name == "mine.Rounded"):
        rows = [row | {"metric.precision_at_10": 1.0} for row in store.read(setting.id).to_pylist()]
        shutil.rmtree(store.folder(setting.id))
        store.write(setting.id, rows, str(setting))
    done = dpbench("board", "add", "results", "--mechanism", "mine.Rounded", cwd=tmp_path)
    assert (done.returncode, "is not what this class computes" in done.stderr) == (1, True)
    claimed = dpbench("board", "add", "results", "--mechanism", "mine.Rounded", "--no-rerun", cwd=tmp_path)
    assert "mine.Rounded: claimed (no trial was computed again)" in claimed.stdout
    (path,) = (tmp_path / "board").iterdir()
    done = dpbench("board", "verify", str(path.relative_to(tmp_path)), "--mechanism", "mine.Rounded", cwd=tmp_path)
    assert (done.returncode, "its numbers are not what its class computes" in done.stderr) == (1, True)


def test_verify_marks_an_honest_claim(stranger, dpbench, tmp_path):
    path = changed(copied(stranger, tmp_path), mark="claimed", rerun=0)
    words = ("board", "verify", str(path.relative_to(tmp_path)), "--mechanism")
    done = dpbench(*words, "mine.Rounded", "--settings", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert decode(path.read_bytes()).mark == "verified"
    wrong = dpbench(*words, "mine.Rounded(step=3)", cwd=tmp_path)
    assert (wrong.returncode, "expected the same class" in wrong.stderr) == (2, True)
