"""Command lines by the dozen, from a seed: known words, mutated, with odd values and letters, over every verb."""

from __future__ import annotations

import random

GROUPS = ("dataset", "mechanism", "task", "experiment", "scale", "runner", "tracking")
NAMES = ("lpa", "gs", "gs_mean", "netflix", "trajectory", "gaussian", "movielens", "column_counts", "leaderboard")
NAMES += (
    "gs/fig9",
    "fig9",
    "sparse/table1",
    "smoke",
    "paper",
    "laptop",
    "local",
    "dask",
    "mlflow",
    "none",
    "statistics",
)
KEYS = (
    "title",
    "epsilon",
    "trials",
    "paper_trials",
    "seed",
    "data_seed",
    "noise",
    "metrics",
    "results",
    "figure",
    "dry",
    "hydra",
)
KEYS += ("runner.jobs", "runner.chunk", "runner.address", "runner.backend", "tracking.uri", "tracking.enabled")
KEYS += ("dataset.trajectory.rows", "dataset.trajectory.sizes", "dataset.trajectory.sizes.smoke", "dataset.trajectory")
KEYS += ("dataset.trajectory.path", "dataset.trajectory.source", "dataset.trajectory.kind", "dataset.trajectory.files")
KEYS += ("dataset.trajectory.generator", "dataset.trajectory.top", "mechanism.lpa.bound", "mechanism.lpa.class")
KEYS += (
    "mechanism.lpa",
    "mechanism.gs.w",
    "task.column_counts.sanity",
    "task.column_counts.class",
    "task",
    "hydra.run.dir",
)
VALUES = (
    "1",
    "0",
    "-1",
    "2.5",
    "1e300",
    "1e-300",
    "nan",
    "inf",
    "true",
    "false",
    "null",
    "''",
    "[]",
    "[[1]]",
    "[true]",
)
VALUES += ("{}", "{a:1}", "{a:{b:[1]}}", "[1,2]", "1,2", "x", "???", "${trials}", "${nothing}", "${oc.env:HOME}", "ln2")
VALUES += (
    "[ln2,x]",
    "range(1,3)",
    "choice(a,b)",
    "os.system",
    "subprocess.Popen",
    "..",
    ".",
    "a..b",
    "/nonexistent",
    "ε",
    "日本",
)
VALUES += (
    "'a b'",
    '"q"',
    "'",
    "[",
    "}",
    "a=b",
    "~",
    "-5",
    "99999999999999999999",
    "0x10",
    "1_000",
    "!!python/name:os.system",
)
FLAGS = (
    "--cfg",
    "--cfg=job",
    "-c",
    "job",
    "--info",
    "--resolve",
    "-p",
    "--package",
    "--experiment",
    "--scale",
    "-x",
    "--",
)
FLAGS += (
    "--config-dir",
    "--config-name",
    "--dry-run",
    "--jobs",
    "-",
    "--trials=3",
    "--mechanism",
    "-i",
    "--config-dir=.",
)
PREFIXES = ("", "", "", "", "+", "++", "~")
OTHERS: dict[str, tuple[str, ...]] = {
    "list": ("mechanisms", "datasets", "experiments", "tasks"),
    "data": (
        "list",
        "show",
        "get",
        "where",
        "trajectory",
        "gaussian",
        "--path",
        "--scale",
        "smoke",
        "--trials",
        "0",
        "ids=all",
    ),
    "figures": ("gs/fig9", "--results", "nowhere"),
    "claims": ("gs", "epicrec", "--results", "nowhere", "--scale", "smoke"),
    "report": ("--results", "nowhere", "--scale", "smoke", "--output", "x.html"),
    "audit": (
        "lpa",
        "gs(bound=2)",
        "--epsilon",
        "1",
        "--pairs",
        "3",
        "--seconds",
        "--delta",
        "0",
        "--seed",
        "--json",
        "x.json",
    ),
    "check": (
        "gs/fig9",
        "--strict",
        "--fresh",
        "--trials",
        "--junit",
        "--baselines",
        "--results",
        "nowhere",
        "--config-dir",
    ),
    "track": ("gs/fig9", "--results", "--uri"),
    "bench": ("gs", "harness", "startup"),
    "completion": ("bash", "zsh", "words", "dpbench run exp", "dpbench data "),
}


def mutated(rng: random.Random, word: str) -> str:
    """The word with one letter too many, too few, or another."""
    at = rng.randrange(len(word) + 1)
    letter = rng.choice("aεXz=,.[]{}'\"-_ /~+@:0日\n\t\\$")
    return rng.choice(
        (word[:at] + letter + word[at:], word[:at] + word[at + 1 :], word[:at] + letter + word[at + 1 :], word)
    )


def _value(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return f"[{','.join(rng.choice(NAMES) for _ in range(rng.randint(0, 3)))}]"
    return rng.choice(NAMES if rng.random() < 0.3 else VALUES)


def _run_word(rng: random.Random) -> str:
    if rng.random() < 0.12:
        return rng.choice(FLAGS)
    if rng.random() < 0.08:
        return rng.choice((*NAMES, *VALUES))
    word = f"{rng.choice(PREFIXES)}{rng.choice((*GROUPS, *KEYS))}={_value(rng)}"
    return mutated(rng, word) if rng.random() < 0.35 else word


def command_line(seed: int) -> list[str]:
    """The command line of a seed. `run` never computes: it ends with dry=true."""
    rng = random.Random(seed)
    if rng.random() < 0.7:
        base = ["scale=smoke", "dataset=[trajectory]", "mechanism=[lpa]"] if rng.random() < 0.7 else []
        return ["run", *base, *(_run_word(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))), "dry=true"]
    verb = rng.choice(sorted(OTHERS))
    words = [
        rng.choice((*OTHERS[verb], *VALUES) if rng.random() < 0.3 else OTHERS[verb]) for _ in range(rng.randint(0, 4))
    ]
    words = [mutated(rng, word) if rng.random() < 0.35 else word for word in words]
    return [mutated(rng, verb) if rng.random() < 0.1 else verb, *words]
