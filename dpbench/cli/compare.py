"""`compare`: shows how a mechanism ranks among those with the same guarantee, on which data it wins or loses and by how much,
and whether its guarantee passes an audit. With --dataset alone, it shows which mechanism to use on this data."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dpbench.cli.common import (
    PRINTED,
    add_jobs,
    add_json,
    add_results,
    console,
    notes,
    parser_of,
    plain_table,
    write_json,
)
from dpbench.cli.compare_data import SETTING, print_data, ratio_text
from dpbench.cli.recorded_boards import print_record
from dpbench.config.dataset_entry import SCALES
from dpbench.errors import Failed, UserError, nearest, one_of, output_folder, positive

if TYPE_CHECKING:
    import pandas as pd

    from dpbench.ranking.entry import Comparison

FORMS = (".csv", ".tsv", ".parquet", ".gz")
COLUMNS = "name the columns of your file by --user and --item, or by --cell and --count for a histogram"
EXAMPLES = """examples:
  python -m dpbench compare mine.Rounded
  python -m dpbench compare 'mine.Rounded(step=5)' --scale laptop
  python -m dpbench compare mine.Rounded --dataset netflix movielens --epsilon 0.1 1
  python -m dpbench compare --dataset visits.csv --user who --item place --bound 50 --epsilon 0.5
  python -m dpbench compare --dataset visits.csv --bound 10 50 --metric mse --json ranking.json
  python -m dpbench compare --dataset proxy.csv --bound 50 --target mae=5
  python -m dpbench compare --record
  python -m dpbench compare --dataset jobs.csv --cell home,work --count jobs --epsilon 1
"""


def main(argv: list[str]) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    if args.record:
        given = {name for name in vars(args) if getattr(args, name) != parser.get_default(name)}
        if given - {"record", "experiment"}:
            raise UserError("--record shows what is on record: expected no other option than --experiment")
        print_record(console(), args.experiment)
        return 0
    one_of("--scale", args.scale, SCALES)
    output_folder("--results ", args.results)
    datasets, overrides = _data(args)
    if args.trials is not None:
        positive("trials", args.trials, whole=True)
        overrides["trials"] = args.trials
    if args.data_seeds is not None:
        overrides["data_seeds"] = args.data_seeds
    for bound in args.bound or ():
        positive("bound", bound, whole=True)
    from dpbench.engine.progress import display
    from dpbench.ranking.entry import Where, compare

    place = args.experiment, args.results, args.jobs
    where = Where(args.scale, datasets, (), args.epsilon, *place, overrides, metric=args.metric or "")
    bounds: list[int | None] = [*dict.fromkeys(args.bound or [None])]
    if args.target is not None:
        for option in ("metric", "json", "no_audit"):
            if getattr(args, option):
                raise UserError(f"--{option.replace('_', '-')} has no effect with --target")
        from dpbench.cli import compare_target

        return max(compare_target.main(args.mechanism, replace(where, bound=bound), args.target) for bound in bounds)
    out = console(stderr=args.json == PRINTED)
    comparisons = []
    for bound in bounds:
        with display(console=notes()) as progress:
            here = replace(where, bound=bound)
            try:
                comparison = compare(args.mechanism, here, audit=not args.no_audit, progress=progress)
            except UserError as problem:
                if datasets != ["table"] or "has no column" not in str(problem):
                    raise
                raise UserError(f"{problem}; {COLUMNS}") from None
        if len(bounds) > 1:
            out.print(f"[bold]bound {bound}[/]")
        numbers = comparison.numbers()
        (_print_rank if comparison.who else print_data)(out, comparison, numbers)
        _print_coverage(out, comparison, numbers)
        _save(comparison)
        comparisons.append(comparison)
    if args.json is not None:
        from dpbench.ranking.as_json import as_json

        bodies = [as_json(comparison) for comparison in comparisons]
        write_json(args.json, bodies[0] if len(bodies) == 1 else bodies)
    return 1 if any(finding.verdict == "violated" for compared in comparisons for finding in compared.findings) else 0


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = parser_of("compare", __doc__, epilog=EXAMPLES, formatter_class=raw)
    add = parser.add_argument
    add("mechanism", nargs="?", help="a name or the dotted path of your class; parameters as in mine.Rounded(step=5)")
    add("--scale", default="smoke", help="smoke (default), laptop or paper")
    add("--dataset", nargs="+", help="names of datasets, or one CSV, TSV or Parquet file of your own")
    add("--user", help="column of the users in your file (default: user)")
    add("--item", help="column of the items in your file (default: item)")
    bound = "the largest number of items that one user of your file may have, chosen without looking at the data; or several"
    add("--bound", type=int, nargs="+", help=bound)
    add("--on-bad-line", choices=("error", "skip"), help="what to do with a line of your file that cannot be read")
    add("--cell", help="columns of the cells in your file of a histogram, separated by commas")
    add("--count", help="column that says how many individuals a line of your histogram stands for (default: one)")
    add("--shape", help="number of cells of each attribute of your histogram, such as 100x24 (default: what occurs)")
    add("--epsilon", nargs="+", help="budgets, such as 0.5 or ln2 (default: those of the board)")
    board = "the board: cross/leaderboard, cross/topk, cross/ranges or cross/subsets (default: by the kind of data)"
    add("--experiment", help=board)
    add("--metric", help="the metric that ranks, such as mse (default: the board's own: mae, abs_error or precision)")
    target = "instead of ranks: the smallest ε with which each mechanism reaches this error, such as mae=5"
    add("--target", metavar="METRIC=VALUE", help=target)
    add("--trials", type=int, help="trials per setting (default: by the scale)")
    add("--data-seeds", type=int, help="draws of generated data (default: by the scale)")
    add_results(parser, "folder of the trials (default: results)")
    add_jobs(parser)
    add_json(parser, "the ranking and the numbers of every setting")
    add("--config-dir", help="your own configuration folder, besides ./conf")  # `dispatch` takes it
    record = "show the boards of the record and run nothing; --experiment: one of them"
    add("--record", action="store_true", help=record)
    add("--no-audit", action="store_true", help="skip the audit, which takes up to 15 seconds")
    return parser


def _data(args: argparse.Namespace) -> tuple[list[str] | None, dict[str, Any]]:
    """The datasets by name; a file becomes the dataset `table`."""
    files = [n for n in args.dataset or () if Path(n).suffix.lower() in FORMS or "/" in n or Path(n).is_file()]
    own = {name: getattr(args, name) for name in ("user", "item", "cell", "count", "shape", "on_bad_line")}
    if not files:
        for name, value in {**own, "bound": args.bound}.items():
            if value is not None:
                option = f"--{name.replace('_', '-')}"
                raise UserError(f"{option} has no effect without a file of your own: give --dataset FILE")
        return args.dataset, {}
    if len(args.dataset) > 1:
        raise UserError(f"--dataset {' '.join(args.dataset)}: expected one file of your own, or names of datasets")
    if not Path(files[0]).expanduser().exists():
        beside = [path.name for path in Path().iterdir() if path.suffix.lower() in FORMS]
        hint = f": {nearest(files[0], beside)}" if beside else ""
        raise UserError(f"--dataset {files[0]}: there is no such file{hint}")
    if args.cell and args.bound:
        raise UserError("--bound has no effect on a histogram, in which every individual counts once")
    kind = "contingency" if args.cell else "incidence"
    overrides: dict[str, Any] = {"dataset.table.path": files[0], "dataset.table.kind": kind}
    overrides |= {f"dataset.table.{name}": value for name, value in own.items() if value is not None}
    return ["table"], overrides


def _print_rank(out: Console, comparison: Comparison, numbers: pd.DataFrame) -> None:
    """Print how the newcomer ranks, setting by setting and against each of the others."""
    from dpbench.ranking.duels import duels

    who = next((name for name in numbers["who"] if str(name).partition("[")[0] == comparison.who), None)
    if who is None:
        errors = [failure.error for failures in comparison.result.failures.values() for failure in failures]
        raise Failed(f"every trial of {comparison.who} failed{f': {errors[-1]}' if errors else ''}")
    share = "precision" in numbers
    mine = numbers[numbers["who"] == who]
    row = mine.iloc[0]
    _print_findings(out, comparison)
    assert comparison.board is not None
    if row["mark"]:
        out.print(f"[red]{escape(who)}: {escape(row['mark'])}[/]")
    if mine["regret"].isna().all():
        if row["mark"]:
            out.print(f"It is not ranked on the board {comparison.board.told}.")
            return
        raise UserError(f"{who} has no numbers to compare: see `python -m dpbench run --verbose` for its failures")
    rivals = numbers.loc[numbers["rank"].notna(), "who"].nunique()
    out.print(f"[bold]{escape(who)}[/] is on the board {comparison.board.told}.")
    out.print(f"Neighbours: {escape(str(row['neighbours']) or 'not stated')}.")
    interval = f"{ratio_text(row['regret_low'], share)} to {ratio_text(row['regret_high'], share)}"
    rank = f"rank {row['rank']:.0f} of {rivals} ({row['rank_low']:.0f} to {row['rank_high']:.0f} over datasets)"
    unranked = "no rank" if row["mark"] else "no rank, because it was not run in every setting"
    by_mean = "" if share else f", by mean instead of geometric mean {ratio_text(row['regret_mean'], share)}"
    regret = f"regret {ratio_text(row['regret'], share)} (95 %: {interval}){by_mean}"
    out.print(
        f"{rank if row['rank'] == row['rank'] else unranked}; {regret}; "
        f"competitive in {row['times_competitive']:.0f} of {row['settings']:.0f} settings"
    )
    out.print(_settings(mine, numbers, share))
    table = plain_table("against", "better in", "worse in", "of", "its error / theirs")
    for duel in duels(numbers, who, share=share):
        counts = map(str, (duel.better, duel.worse, duel.settings))
        table.add_row(escape(duel.rival), *counts, ratio_text(duel.ratio, share))
    out.print(table)
    _print_split(out, comparison, numbers, who)


def _print_findings(out: Console, comparison: Comparison) -> None:
    """Print what the audit found, before any number: an error says little if the guarantee does not hold."""
    for finding in comparison.findings:
        details = f" ({finding.reason})" if finding.reason else f" on {finding.pairs} pairs"
        details += f"; {finding.pair}: {finding.step}" if finding.verdict == "violated" else ""
        colour = "red" if finding.verdict == "violated" else "default"
        out.print(f"Audit at ε = 1: [{colour}]{finding.verdict}[/]{escape(details)}")


def _settings(mine: pd.DataFrame, numbers: pd.DataFrame, share: bool) -> Table:
    """Every setting: the newcomer's distance to the best mechanism, and which one that is."""
    from dpbench.figures.style import epsilon_name

    keys = [name for name in SETTING if name in mine]
    distance = "below the best by" if share else "times the best"
    table = plain_table(*(SETTING[name] for name in keys), distance, "at least", "at most", "standing", "best")
    best = numbers[numbers["ratio"] == (0.0 if share else 1.0)]
    for _, row in mine.dropna(subset=["ratio"]).iterrows():
        same = (best[keys] == row[keys]).all(axis=1)
        names = ", ".join(best.loc[same, "who"]) or "-"
        standing = "competitive" if row["competitive"] else "perhaps the best" if row["may_be_best"] else "worse"
        setting = [epsilon_name(row[k]) if k == "epsilon" else str(row[k]) for k in keys]
        ratios = [ratio_text(row[name], share) for name in ("ratio", "ratio_low", "ratio_high")]
        table.add_row(*map(escape, (*setting, *ratios, standing, names)))
    return table


def _print_split(out: Console, comparison: Comparison, numbers: pd.DataFrame, who: str) -> None:
    """Print how much of the newcomer's error comes from each stage of its release or, without stages, from bias and variance."""
    from dpbench.ranking.tables import shares

    assert comparison.board is not None
    table = shares(numbers, comparison.board)
    if table.empty or who not in set(table["who"]):
        return
    row = table.set_index("who").loc[who]
    if row.isna().all():
        _print_bias(out, numbers[numbers["who"] == who])
        return
    parts = ", ".join(f"{name} {100 * value:.0f} %" for name, value in row.items() if value > 0.0005)
    if parts:  # empty for a mechanism whose releases have no stages
        out.print(f"Its mean squared error is: {parts}")


def _print_bias(out: Console, mine: pd.DataFrame) -> None:
    if "bias2" not in mine or not (known := mine.dropna(subset=["bias2", "variance"])).shape[0]:
        return
    # A few pairs of trials estimate an unbiased release as biased by some per cent: what may be chance does not count.
    chance = 2 * known["bias2_se"].fillna(0.0)
    bias = known["bias2"].where(known["bias2"] > chance, 0.0).clip(lower=0)
    share = (bias / (bias + known["variance"])).mean()
    hint = "a release with `stages` is split further; stages=() if its only step is noise"
    out.print(f"Its mean squared error is: bias {100 * share:.0f} %, variance {100 * (1 - share):.0f} % ({hint})")


def _print_coverage(out: Console, comparison: Comparison, numbers: pd.DataFrame) -> None:
    """Print what the intervals are about; with one draw of generated data, also how to have more."""
    from dpbench.ranking.tables import covered, unseen

    run = comparison.run
    trials = f"{run.repetitions} trials per setting"
    out.print(
        f"Scale {run.scale}, {trials}{f', of which {run.look} decide which mechanisms stop' if run.stopped else ''}."
    )
    more = " (--data-seeds 3 draws three)" if len(run.data_seeds) == 1 else ""
    about = covered(numbers, generated=bool(run.data_seeds))
    rare = "" if "precision" in numbers else f"; {unseen(numbers)}"
    out.print(f"Intervals and verdicts are about {about}{more}{rare}.")
    if "epsilon" in numbers:
        from dpbench.privacy.exchange import exchange

        out.print(f"{exchange(float(numbers['epsilon'].max()))}.")


def _save(comparison: Comparison) -> None:
    """Save the figure of the board, with the newcomer highlighted."""
    from dpbench.figures.style import paper_style, plt

    name = "-".join(filter(None, (comparison.run.label, comparison.metric)))
    path = comparison.run.results / "figures" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = comparison.figure()
    with paper_style():
        figure.savefig(path, metadata={"Software": None})
    plt.close(figure)
    notes().print(f"wrote {path}")
