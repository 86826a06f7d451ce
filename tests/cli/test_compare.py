"""`compare` on the command line: a user's mechanism in a fresh folder, advice on a user's data, and wrong use."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from dpbench.cli.common import console
from dpbench.cli.compare import _print_bias

from support.door import dpbench

MINE = """
from dataclasses import dataclass
from dpbench import Bounded, Counts, Mechanism


@dataclass(frozen=True, kw_only=True)
class Rounded(Mechanism):
    step: float = 10.0

    def publish(self, data, epsilon, noise):
        noisy = noise.laplace(data.counts, scale=data.largest_row / epsilon)
        return Counts(counts=self.step * (noisy / self.step).round())


@dataclass(frozen=True, kw_only=True)
class Careful(Bounded):
    def publish_columns(self, columns, epsilon, noise):
        return Counts(counts=noise.laplace(columns.counts, scale=self.sensitivity(columns) / epsilon).clip(0))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("fresh")
    (found / "mine.py").write_text(MINE)
    rows = "\n".join(f"u{i % 97},i{(i * i) % 23}" for i in range(800))
    (found / "visits.csv").write_text(f"who,place\n{rows}\n")
    return found


def test_a_stranger_that_violates_its_guarantee_is_not_ranked(folder):
    """It states pure ε and takes its scale from the data: the audit says so first, and it is off the board that it claims."""
    done = dpbench("compare", "mine.Rounded", "--dataset", "trajectory", "--epsilon", "1", "--trials", "4", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("Audit at ε = 1: violated (the scale of laplace differs")
    assert "It is not ranked on the board pure ε" in done.stdout
    assert "regret" not in done.stdout
    assert "gaussian" not in done.stdout
    told = "about the noise of the trials on this data only: on another draw of generated data, ranks may differ"
    assert f"{told} (--data-seeds 3 draws three); what occurs in fewer than" in done.stdout
    assert (folder / "results/figures/compare/mine.Rounded-on-trajectory-epsilon1.png").is_file()


@pytest.mark.slow
def test_a_bound_is_declared_where_that_makes_a_class_private(folder):
    again = ("--dataset", "trajectory", "--epsilon", "1", "--trials", "4")
    done = dpbench("compare", "mine.Careful", *again, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "mine.Careful is on the board pure ε" in done.stdout
    assert "Audit at ε = 1: holds on" in done.stdout


@pytest.mark.slow
def test_advice_on_own_data(folder):
    own = ("--dataset", "visits.csv", "--user", "who", "--item", "place", "--bound", "20", "--epsilon", "0.5")
    done = dpbench("compare", *own, "--trials", "4", cwd=folder)
    assert done.returncode == 0, done.stderr
    for board in ("pure ε", "(ε, δ)", "reads the data"):
        assert board in done.stdout
    assert "For comparison only, because a release would not be private" in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "nothing to compare: give a mechanism, such as mine.Rounded, or a dataset"),
        (("mine.Roundd",), "has no 'Roundd': did you mean 'Rounded'"),
        (("lpaa",), "unknown mechanism 'lpaa'"),
        (("lpa", "--bound", "3"), "--bound has no effect without a file of your own"),
        (("--dataset", "visits.csv", "--count", "n"), "count=n has no effect on incidence data"),
        (("--dataset", "running_example"), "no board compares mechanisms for catalogue data"),
        (("lpa", "--scale", "smok"), "'smok'"),
        (("lpa", "--data-seeds", "0"), "data_seeds=0"),
        (("--dataset", "visits.csv", "--metric", "mee"), "unknown metric 'mee': did you mean 'mse'?"),
        (("--dataset", "vists.csv"), "--dataset vists.csv: there is no such file: did you mean 'visits.csv'?"),
        (("--dataset", "visits.csv", "--bound", "0"), "bound=0"),
        (("--dataset", "visits.csv", "--target", "mae=5", "--metric", "mse"), "--metric has no effect with --target"),
        (("lpa", "--experiment", "gs/fig9"), "gs/fig9 is no board"),
        (("s_dpdp",), "s_dpdp takes catalogue data, which no board compares"),
    ],
)
def test_nonsense_is_refused(folder, args, message):
    done = dpbench("compare", *args, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_peers_and_own_yaml_go_by_their_names(folder):
    """What `run` knows by a YAML, ours or the user's own, `compare` knows as well."""
    (folder / "conf/mechanism").mkdir(parents=True)
    (folder / "conf/mechanism/careful.yaml").write_text("careful: {class: mine.Careful, bound: declared}\n")
    few = ("--dataset", "trajectory", "--epsilon", "1", "--trials", "4")
    own = dpbench("compare", "careful", *few, cwd=folder)
    assert own.returncode == 0, own.stderr
    assert "careful is on the board pure ε" in own.stdout
    assert "Its mean squared error is: bias " in own.stdout
    assert "holds on 100 pairs" in own.stdout
    pytest.importorskip("opendp")
    peer = dpbench("compare", "opendp_laplace", *few, "--no-audit", cwd=folder)
    assert peer.returncode == 0, peer.stderr
    assert "opendp_laplace is on the board pure ε" in peer.stdout
    near = dpbench("compare", "carefull", cwd=folder)
    assert (near.returncode, "did you mean 'careful'?" in near.stderr) == (2, True)


def test_advice_on_an_own_histogram_is_given_by_size_of_the_ranges(folder):
    """The kind of the data decides the board. 64 cells have ranges of three sizes, each with one line per board."""
    lines = "\n".join(f"{i % 8},{i // 8},{i * i % 31}" for i in range(64))
    (folder / "jobs.csv").write_text(f"home,work,jobs\n{lines}\n")
    own = ("--dataset", "jobs.csv", "--cell", "home,work", "--count", "jobs", "--epsilon", "1", "--trials", "3")
    done = dpbench("compare", *own, "--jobs", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    boards = re.split(r"^\(ε, δ\)|^reads the data", done.stdout, flags=re.MULTILINE)
    assert len(boards) == 3
    assert all(f" {size} %" in board for board in boards for size in ("0.7", "6", "50"))
    assert "Intervals and verdicts are about the noise of the trials on this data only; what occurs" in done.stdout


@pytest.mark.parametrize(("error", "told"), [(1.0, "bias 0 %, variance 100 %"), (0.1, "bias 20 %, variance 80 %")])
def test_a_bias_that_may_be_chance_is_not_told(capsys, error, told):
    """1 of 5 parts of the squared error, known within a standard error of 1 or of 0.1."""
    mine = pd.DataFrame({"bias2": [1.0], "bias2_se": [error], "variance": [4.0], "variance_se": [0.1]})
    _print_bias(console(), mine)
    assert told in capsys.readouterr().out


OWN = ("--dataset", "visits.csv", "--user", "who", "--item", "place", "--epsilon", "1", "--trials", "4", "--jobs", "1")


def test_the_ranking_on_an_own_file(folder):
    """Every mechanism with its distance to the best and to zero and with the other metrics; numbers for programs agree."""
    done = dpbench("compare", *OWN, "--bound", "9", "20", "--metric", "mse", "--json", "found.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    nine, twenty = json.loads((folder / "found.json").read_text())
    assert (nine["bound"], twenty["bound"], nine["metric"], nine["trials"]) == (9, 20, "mse", 4)
    pure = [row for row in nine["settings"] if row["board"] == "pure ε"]
    ranked = sorted((row for row in pure if row["ratio"] is not None), key=lambda row: row["ratio"])
    table = done.stdout.partition("(ε, δ)")[0]
    lines = {line.split()[2]: line.split() for line in table.splitlines() if line.startswith(" visits ")}
    assert [*lines] == [row["who"] for row in ranked]
    zero = next(row["mse"] for row in pure if row["who"] == "zero")
    for row in ranked:
        assert float(lines[row["who"]][10]) == pytest.approx(row["mse"] / zero, rel=0.01)
    for text in ("bound 9", "bound 20", "Scale smoke, 4 trials per setting.", "*: the lowest of its column"):
        assert text in done.stdout
    heads = next(line.split() for line in table.splitlines() if "of zero's" in line)
    assert heads[-5:] == ["zero's", "mae", "mre", "kl", "trials"]
    for bound in (9, 20):  # neither replaces the other one
        name = f"visits-user.who-item.place-bound{bound}-epsilon1+visits-mse.png"
        assert (folder / "results/figures/compare" / name).is_file()


def test_bad_lines_of_an_own_file(folder):
    (folder / "bad.csv").write_text((folder / "visits.csv").read_text() + "u1\n")
    bad = ("bad.csv" if word == "visits.csv" else word for word in OWN)
    words = ["compare", *bad, "--bound", "8"]
    refused = dpbench(*words, cwd=folder)
    assert (refused.returncode, "bad.csv" in refused.stderr) == (2, True)
    assert dpbench(*words, "--on-bad-line", "skip", cwd=folder).returncode == 0


def test_what_is_left_out_for_one_reason_is_told_once(folder):
    done = dpbench(
        *("compare", "--dataset", "visits.csv", "--user", "who", "--item", "place", "--epsilon", "1", "--trials", "2"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no bound is declared") == 1
    assert "--bound NUMBER declares it" in done.stderr
