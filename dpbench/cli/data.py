"""`data`: lists datasets and what is stored of them; shows a dataset's card, shape and calibration; fetches original files."""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column, Table

from dpbench.cli import common, data_calibration
from dpbench.config import catalogue
from dpbench.config.dataset_entry import SCALES, DatasetEntry
from dpbench.errors import UserError, one_of, unknown
from dpbench.paths import cache
from dpbench.sources import cards
from dpbench.storage.numbers import plain, with_error

if TYPE_CHECKING:
    from dpbench.model.setting import Dataset
    from dpbench.ranking.calibration import Measured

ROOMY = 110  # smallest terminal width at which titles fit beside the other columns
ORIGINAL = (
    "Originals: get = python -m dpbench data get NAME; own = your own files, by dataset.NAME.path=FOLDER; - = none."
)
MATCHED = "generator, files' sizes"
"""The form of a dataset that is generated with the sizes of its original files."""


def main(argv: list[str]) -> int:
    parser = common.parser_of("data", __doc__)
    verbs = parser.add_subparsers(
        dest="what", required=True, metavar="list | show NAME | calibration [NAME] | get NAME | where"
    )
    verbs.add_parser("list", help="every dataset: its kind, and what is stored here")
    show = verbs.add_parser("show", help="card, statistics beside the paper's, shape, generator against original")
    add = show.add_argument
    add("name")
    add("parameters", nargs="*", help="parameters of the generator or reader, such as ids=all")
    add("--path", help="the original files (default: what `data get` fetched)")
    add("--scale", default="laptop", help="scale of the generator: smoke, laptop or paper (default: laptop)")
    add("--epsilon", default="ln2", help="budget of the compared mechanisms (default: ln2)")
    add("--trials", type=int, default=5, help="trials per mechanism; 0: compare shapes only (default: 5)")
    add = verbs.add_parser("get", help="fetch the original files from their official address").add_argument
    add("name")
    add("--from", dest="mirror", help="another address of the same files")
    again = "fetch again; the old files are kept until the new ones are complete"
    add("--again", action="store_true", help=again)
    data_calibration.add_arguments(
        verbs.add_parser("calibration", help="statistics as printed, as published, and in each of our worlds")
    )
    verbs.add_parser("where", help="the folders of downloads and of built data")
    args, rest = parser.parse_known_args(argv)
    if any(word.startswith("-") for word in rest) or (rest and args.what != "show"):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:  # parameters after an option
        args.parameters += rest
    if getattr(args, "name", None) and args.name not in catalogue.options("dataset"):
        raise unknown("dataset", args.name, catalogue.options("dataset"))
    shown = data_calibration.show_calibration
    functions = {"list": _list, "show": _show, "get": _get, "where": _where, "calibration": shown}
    return functions[args.what](args, common.console())


def _list(args: argparse.Namespace, console: Console) -> int:
    heads = ["name", "kind", "here", "original", "what it is"]
    heads = heads if console.width >= ROOMY else heads[:-1]  # `show` also has the title
    columns = [Column(head, no_wrap=head in ("name", "kind", "original")) for head in heads]
    table = Table(*columns, caption=ORIGINAL, caption_justify="left")
    for name in catalogue.options("dataset"):
        entry, card = catalogue.dataset(name), cards.load(name)
        original = "fetched" if cards.fetched(name) else "get" if card.files else "own" if entry.files else "-"
        row = (name, entry.kind or "any", _here(entry), original, card.title)
        table.add_row(*row[: len(heads)])
    console.print(table)
    return 0


def _here(entry: DatasetEntry) -> str:
    """Which forms of a dataset are already on this machine."""
    from dpbench.config.entries import dataset_of
    from dpbench.sources.cache import origins, peek

    built = [s for s in SCALES if entry.generator and peek(dataset_of(entry.generated(), s))]
    came = origins(entry.name)
    # Built data may also have another kind or other parameters than those of the scales.
    forms = [f"generated ({', '.join(built)})"] if built else ["generated"] if None in came else []
    forms += ["files"] if cards.fetched(entry.name) or came - {None} else []
    return ", ".join(forms) or "nothing"


def _where(args: argparse.Namespace, console: Console) -> int:
    for what, folder in (("built data", cache() / "data"), ("downloads", cards.downloads())):
        size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) if folder.is_dir() else 0
        console.print(f"{what}: {folder} ({size / 1e6:,.1f} MB)")
    console.print(f"cards: {cards.CARDS}")
    console.print("DPBENCH_CACHE names another folder for the first two.")
    return 0


def _get(args: argparse.Namespace, console: Console) -> int:
    from dpbench.sources.download.fetch import FetchError, fetch

    card = cards.load(args.name)
    notes = common.notes()
    before = (cards.downloads() / args.name).is_dir()
    if args.again or not before:
        _print_facts(card, console)
        if not card.files:
            raise UserError(_no_address(card))
    try:
        with _progress(notes) as progress:
            folder, sums = fetch(card, mirror=args.mirror, again=args.again, progress=progress)
    except FetchError as error:
        kept = "; the files fetched before are kept" if args.again and before else ""
        notes.print(f"dpbench: {error}{kept}", markup=False)
        return 1
    for file in card.files:
        known, sha256 = file.checksum, f"sha256:{sums[file.name]}"
        unpacked = before and not args.again and not (folder / file.name).is_file()
        holds = "held when it was unpacked, and its files are unchanged" if unpacked else "holds"
        sure = "the card has no checksum to compare with" if known == cards.UNKNOWN else f"checksum {known} {holds}"
        console.print(f"{file.name}: {sure}{f'; {sha256}' if known != sha256 else ''}")
    state = "was fetched before" if before and not args.again else "is here now"
    console.print(f"{args.name} {state}: {folder}")
    console.print(f"Use it: python -m dpbench run ... dataset.{args.name}.source=files")
    return 0


def _print_facts(card: cards.Card, console: Console) -> None:
    """What the original is, its publisher, its licence, and where its files are."""
    facts = {"what": card.title, "publisher": card.publisher, "page": card.page, "licence": card.licence}
    for name, fact in facts.items():
        if fact:
            console.print(f"[bold]{name}[/]: ", end="")
            console.print(str(fact), markup=False)
    for file in card.files:
        about = ", ".join(filter(None, (file.size, f"checksum {file.checksum}")))
        console.print(f"[bold]file[/]: {file.address} ({about})")


def _no_address(card: cards.Card) -> str:
    where = f" Its page is {card.page}." if card.page else ""
    with_files = f"With the files: dataset.{card.name}.path=FOLDER"
    use = with_files if catalogue.dataset(card.name).files else "It is generated, and no files of it are read"
    return f"{card.name} has no address to fetch it from.{where} {use}"


@contextmanager
def _progress(notes: Console) -> Iterator[Callable[[str, int, int | None], None]]:
    from rich import progress as rich

    size = (rich.DownloadColumn(), rich.TransferSpeedColumn(), rich.TimeRemainingColumn())
    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), *size)
    with rich.Progress(*columns, console=notes, disable=not notes.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def advance(name: str, have: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=have, total=total)

        yield advance


# `show`


def _show(args: argparse.Namespace, console: Console) -> int:
    """The whole page of a dataset."""
    from dpbench.mechanisms.base import parse_epsilon
    from dpbench.ranking import calibration

    epsilon = parse_epsilon(args.epsilon)  # before anything is built
    card = cards.load(args.name)
    console.rule(args.name)
    _print_facts(card, console)
    if card.text:
        from rich.markdown import Markdown

        console.print(Markdown(card.text))
    for world in catalogue.dataset(args.name).worlds.values():
        console.print(f"[bold]world {world.name}[/]: ", end="")
        console.print(world.says, markup=False)
    if card.ratios:
        console.print(f"[bold]{cards.RATIOS}[/]: {card.shown_ratios}")
    forms = _forms(args, common.notes())
    if not forms:
        get = f", or python -m dpbench data get {args.name}" if card.files else ""
        console.print(f"There is no data here: give --path FILE or FOLDER{get}")
        return 0
    console.print(_statistics(card, forms))
    for table in _shapes(forms):
        console.print(table)
    if args.trials > 0:
        kind = next(iter(forms.values())).kind
        if MATCHED in forms:  # it replaces the form of the scale
            forms.pop(f"generator, {args.scale}", None)
        console.print(_errors(forms, calibration.MEASURES[kind], epsilon, args.trials))
    return 0


def _forms(args: argparse.Namespace, notes: Console) -> dict[str, Any]:
    """The dataset in every available form: generated at a scale, from files, generated at the files' sizes."""
    from dpbench import documents
    from dpbench.config.entries import dataset_of
    from dpbench.ranking import calibration
    from dpbench.sources.cache import open_dataset

    one_of("--scale", args.scale, SCALES)
    given = {}
    for word in args.parameters:
        key, equals, value = word.partition("=")
        if not equals:
            raise UserError(f"cannot read {word!r}: expected a parameter such as ids=all")
        given[key] = documents.value(value)
    entry = catalogue.dataset(args.name).changed(given)
    forms: dict[str, Any] = {}

    def say(text: str) -> None:
        notes.print(text, markup=False)

    def add(form: str, dataset: Dataset) -> None:
        forms[form] = open_dataset(dataset, say=lambda text: say(f"{form}: {text}")).data

    if entry.generator:
        add(f"generator, {args.scale}", dataset_of(entry.generated(), args.scale))
    path = args.path or entry.path or cards.fetched(args.name)
    if path and not entry.files:
        raise UserError(f"{args.name} has no original files that dpbench reads: expected no --path")
    if path:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            add("files", dataset_of(entry.from_files(path), args.scale))
        for warning in caught:
            say(f"warning: {warning.message}")
        try:
            matched = calibration.matched(args.name, forms["files"].kind, forms["files"])
            if matched is not None:
                add(MATCHED, matched)
        except UserError as error:
            say(f"The generator cannot use the files' sizes: {error}")
    return forms


def _side_by_side(title: str, columns: Mapping[str, Mapping[str, Any]]) -> Table:
    """A table of numbers: one row for every key of any column."""
    table = Table("", *(Column(head, justify="right") for head in columns), title=title)
    for key in dict.fromkeys(key for values in columns.values() for key in values):
        table.add_row(key.replace("_", " "), *(data_calibration.number(values.get(key)) for values in columns.values()))
    return table


def _statistics(card: cards.Card, forms: Mapping[str, Any]) -> Table:
    columns = {name: data.statistics() for name, data in forms.items()}
    for facts, key, usual in ((card.original, "of", "original"), (card.paper, "table", "paper")):
        if values := {name: value for name, value in facts.items() if name != key}:
            columns = {str(facts.get(key, usual)): values} | columns
    return _side_by_side("Statistics", columns)


def _shapes(forms: Mapping[str, Any]) -> Iterator[Table]:
    """A table of quantiles for each shape, the forms side by side."""
    from dpbench.ranking import calibration

    shapes = {name: calibration.shapes(data) for name, data in forms.items()}
    for shape in next(iter(shapes.values())):
        outlines = {name: calibration.outline(parts[shape]) for name, parts in shapes.items() if shape in parts}
        yield _side_by_side(f"{shape[0].upper()}{shape[1:]}: quantiles of the non-empty ones", outlines)


def _errors(forms: Mapping[str, Any], measure: tuple[str, str], epsilon: float, trials: int) -> Table:
    from dpbench.ranking.calibration import errors

    how = f"mean of {trials} trials" if trials > 1 else "one trial"
    heads = [*forms, "generator / files"] if {"files", MATCHED} <= {*forms} else [*forms]
    columns = (Column(head, justify="right") for head in heads)
    table = Table("mechanism", *columns, title=f"{measure[1]} of {measure[0]}, ε = {epsilon:.4g}, {how}")
    measured = {form: errors(data, epsilon, trials) for form, data in forms.items()}
    for name in next(iter(measured.values())):
        values = [by_name[name] for by_name in measured.values()]
        cells = [v if isinstance(v, str) else _measured(v, measure[1]) for v in values]
        if len(heads) > len(forms):
            ours, theirs = measured[MATCHED][name], measured["files"][name]
            numbers = not isinstance(ours, str) and not isinstance(theirs, str) and theirs.mean
            cells.append(f"{ours.mean / theirs.mean:.2f}" if numbers else "")  # type: ignore[union-attr]
        table.add_row(name, *cells)
    return table


def _measured(value: Measured, usual: str) -> str:
    """Mean and standard error, and the metric's name if it is not the one in the table's title."""
    other = "" if value.metric == usual else f"{value.metric.replace('_', ' ')}: "
    return f"{other}{with_error(value.mean, value.spread) if math.isfinite(value.spread) else plain(value.mean, 4)}"
