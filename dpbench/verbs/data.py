"""`data`: what datasets there are and what of them is here; a dataset's card, shape and calibration; their original files."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table

from dpbench.compose import options
from dpbench.errors import UserError, nearest
from dpbench.paths import cache
from dpbench.sources import cards

WIDTH = 150  # of what is printed into a pipe
BAR = 24  # characters of a full bar
TOLD = "generator, files' sizes"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench data", description=__doc__)
    verbs = parser.add_subparsers(dest="what", required=True, metavar="list | show NAME | get NAME | where")
    verbs.add_parser("list", help="every dataset: its kind, and what of it is here")
    show = verbs.add_parser("show", help="card, statistics beside the paper's, shape, generator against original")
    show.add_argument("name")
    show.add_argument("parameters", nargs="*", help="of the generator or reader, such as ids=all")
    show.add_argument("--path", help="the original files (default: what `data get` fetched)")
    show.add_argument("--scale", default="laptop", help="of the generator: smoke, laptop or paper (default: laptop)")
    show.add_argument("--epsilon", default="ln2", help="of the mechanisms that are compared (default: ln2)")
    show.add_argument("--trials", type=int, default=5, help="of each mechanism; 0: compare shapes only (default: 5)")
    get = verbs.add_parser("get", help="fetch the original files from their official address")
    get.add_argument("name")
    get.add_argument("--from", dest="mirror", help="another address under which the same files are")
    verbs.add_parser("where", help="the folders of downloads and of built data")
    args, rest = parser.parse_known_args(argv)
    if any(word.startswith("-") for word in rest) or (rest and args.what != "show"):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:  # parameters after an option
        args.parameters += rest
    console = Console()
    console = console if console.is_terminal else Console(width=WIDTH)
    if getattr(args, "name", None) and args.name not in options("dataset"):
        raise UserError(f"unknown dataset {args.name!r}: {nearest(args.name, options('dataset'))}")
    verb: Callable[[argparse.Namespace, Console], int] = {"list": _list, "show": _show, "get": _get, "where": _where}[
        args.what
    ]
    return verb(args, console)


def _list(args: argparse.Namespace, console: Console) -> int:
    from dpbench.calibration import entry_of

    table = Table()
    for head in ("name", "kind", "what it is", "here", "original"):
        table.add_column(head, overflow="fold")
    for name in options("dataset"):
        entry, card = entry_of(name), cards.load(name)
        original = "fetched" if cards.fetched(name) else f"data get {name}" if card.files else "-"
        if not card.files and entry.get("files"):
            original = f"dataset.{name}.path=..."
        table.add_row(name, str(entry.get("kind")), card.title, _here(name, entry), original)
    console.print(table)
    return 0


def _here(name: str, entry: Mapping[str, Any]) -> str:
    """What of a dataset is on this machine already."""
    from dpbench.config import SCALES, dataset_of
    from dpbench.sources.cache import peek

    generated = {**entry, "source": "generator"}
    built = [s for s in SCALES if entry.get("generator") and peek(dataset_of(name, generated, s).spec)]
    found = [f"generated ({', '.join(built)})"] if built else []
    found += ["files"] if cards.fetched(name) else []
    return ", ".join(found) or "nothing"


def _where(args: argparse.Namespace, console: Console) -> int:
    for what, folder in (("built data", cache() / "data"), ("downloads", cards.downloads())):
        size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) if folder.is_dir() else 0
        console.print(f"{what}: {folder} ({size / 1e6:,.1f} MB)", highlight=False, soft_wrap=True)
    console.print(f"cards: {cards.CARDS}", highlight=False, soft_wrap=True)
    console.print("DPBENCH_CACHE names another folder for the first two.", highlight=False)
    return 0


def _get(args: argparse.Namespace, console: Console) -> int:
    from dpbench.sources.fetch import FetchError, fetch

    card = cards.load(args.name)
    notes = Console(stderr=True, highlight=False)
    here = cards.fetched(args.name)
    if here is None:
        _print_facts(card, console)
        if not card.files:
            raise UserError(_no_address(card))
    try:
        with _progress(notes) as progress:
            folder, found = fetch(card, mirror=args.mirror, progress=progress)
    except FetchError as error:
        notes.print(f"dpbench: {error}", soft_wrap=True, markup=False)
        return 1
    for file in card.files:
        sure = (
            f"checksum {file.checksum} holds" if file.checksum != cards.UNKNOWN else "its checksum is not known before"
        )
        console.print(f"{file.name}: {sure}; sha256:{found.get(file.name, '?')}", highlight=False, soft_wrap=True)
    state = "was fetched before" if here else "is here now"
    console.print(f"{args.name} {state}: {folder}", highlight=False, soft_wrap=True)
    console.print(
        f"Use it: python -m dpbench run ... dataset.{args.name}.source=files", highlight=False, soft_wrap=True
    )
    return 0


def _no_address(card: cards.Card) -> str:
    where = f" Its page is {card.page}." if card.page else ""
    return (
        f"{card.name} has no address that may be fetched from.{where} With the files: dataset.{card.name}.path=FOLDER"
    )


@contextmanager
def _progress(notes: Console) -> Iterator[Callable[[str, int, int | None], None]]:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=notes, disable=not notes.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def advance(name: str, have: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=have, total=total)

        yield advance


def _print_facts(card: cards.Card, console: Console) -> None:
    facts = {"what": card.title, "publisher": card.publisher, "page": card.page, "licence": card.licence}
    for name, fact in facts.items():
        if fact:
            console.print(f"[bold]{name}[/]: ", end="")
            console.print(str(fact), highlight=False, markup=False, soft_wrap=True)
    for file in card.files:
        about = ", ".join(filter(None, (file.size, f"checksum {file.checksum}")))
        console.print(f"[bold]file[/]: {file.address} ({about})", highlight=False, soft_wrap=True)


def _show(args: argparse.Namespace, console: Console) -> int:
    from dpbench import calibration

    card = cards.load(args.name)
    console.rule(args.name)
    _print_facts(card, console)
    if card.text:
        from rich.markdown import Markdown

        console.print(Markdown(card.text))
    forms = _forms(args, Console(stderr=True, highlight=False))
    if not forms:
        console.print(f"Nothing of it is here: --path, or python -m dpbench data get {args.name}", highlight=False)
        return 0
    console.print(_statistics(card, forms))
    for table in _shapes(forms):
        console.print(table)
    if args.trials > 0:
        kind = next(iter(forms.values())).kind
        compared = {name: data for name, data in forms.items() if TOLD not in forms or name != _scaled(args)}
        console.print(_errors(compared, calibration.MEASURES[kind], args))
    return 0


def _scaled(args: argparse.Namespace) -> str:
    return f"generator, {args.scale}"


def _forms(args: argparse.Namespace, notes: Console) -> dict[str, Any]:
    """The dataset in every form that is here: generated at a scale, from files, generated at the files' sizes."""
    import yaml

    from dpbench import calibration
    from dpbench.config import SCALES, dataset_of
    from dpbench.errors import one_of
    from dpbench.sources.cache import open_dataset

    one_of("--scale", args.scale, SCALES)
    given = {}
    for word in args.parameters:
        key, equals, value = word.partition("=")
        if not equals:
            raise UserError(f"cannot read {word!r}: expected a parameter such as ids=all")
        given[key] = yaml.safe_load(value)
    entry: dict[str, Any] = calibration.entry_of(args.name) | given

    def say(text: str) -> None:
        notes.print(text, markup=False, soft_wrap=True)

    forms: dict[str, Any] = {}
    if entry.get("generator"):
        generated = dataset_of(args.name, {**entry, "source": "generator"}, args.scale)
        forms[_scaled(args)] = open_dataset(generated.spec, say=say)[0]
    path = args.path or cards.fetched(args.name)
    if path and not entry.get("files"):
        raise UserError(f"{args.name} has no original that we read: expected no --path")
    if path:
        spec = dataset_of(args.name, {**entry, "source": "files", "path": str(path)}, args.scale).spec
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            forms["files"] = open_dataset(spec, say=say)[0]
        for warning in caught:
            say(f"warning: {warning.message}")
        try:
            told = calibration.matched(args.name, forms["files"].kind, forms["files"])
            if told is not None:
                forms[TOLD] = open_dataset(told, say=say)[0]
        except UserError as error:
            say(f"The generator cannot be told the files' sizes: {error}")
    return forms


def _statistics(card: cards.Card, forms: Mapping[str, Any]) -> Table:
    paper = {k: v for k, v in card.paper.items() if k != "table"}
    original = {k: v for k, v in card.original.items() if k != "of"}
    table = Table(title="Statistics")
    table.add_column("")
    columns: dict[str, Mapping[str, Any]] = {}
    if paper:
        columns[str(card.paper.get("table", "paper"))] = paper
    if original:
        columns[str(card.original.get("of", "original"))] = original
    columns |= {name: data.statistics() for name, data in forms.items()}
    for head in columns:
        table.add_column(head, justify="right")
    for key in dict.fromkeys(key for values in columns.values() for key in values):
        table.add_row(key.replace("_", " "), *(_number(values.get(key)) for values in columns.values()))
    return table


def _shapes(forms: Mapping[str, Any]) -> list[Table]:
    """For each shape a table of its outline and a plot, the forms side by side."""
    from dpbench import calibration

    found = {name: calibration.shapes(data) for name, data in forms.items()}
    tables = []
    for shape in next(iter(found.values())):
        parts = {name: values[shape] for name, values in found.items() if shape in values}
        outlines = {name: calibration.outline(values) for name, values in parts.items()}
        table = Table(title=f"{shape[0].upper()}{shape[1:]}: quantiles of those that are not empty")
        table.add_column("")
        for name in parts:
            table.add_column(name, justify="right")
        for key in dict.fromkeys(k for o in outlines.values() for k in o):
            table.add_row(key, *(_number(o.get(key)) for o in outlines.values()))
        bars = {name: calibration.histogram(values) for name, values in parts.items()}
        plot = Table(title=f"{shape[0].upper()}{shape[1:]}", box=None, padding=(0, 2))
        plot.add_column("", justify="right")
        for name in bars:
            plot.add_column(name, no_wrap=True)
        most = max((share for h in bars.values() for share in h.values()), default=1.0)
        for step in calibration.combined(bars):
            plot.add_row(step, *(_bar(h.get(step, 0.0), most) for h in bars.values()))
        tables += [table, plot]
    return tables


def _bar(share: float, most: float) -> str:
    full = "█" * round(BAR * share / most)
    return f"{full or ('▏' if share else '')} {100 * share:.2g} %" if share else ""


def _errors(forms: Mapping[str, Any], measure: tuple[str, str], args: argparse.Namespace) -> Table:
    from dpbench.calibration import errors
    from dpbench.mechanisms.base import parse_epsilon

    epsilon = parse_epsilon(args.epsilon)
    table = Table(title=f"{measure[1]} of {measure[0]}, ε = {epsilon:.4g}, mean of {args.trials} trials")
    table.add_column("mechanism")
    for name in forms:
        table.add_column(name, justify="right")
    found = {form: errors(data, epsilon, args.trials) for form, data in forms.items()}
    comparable = {"files", TOLD} <= set(forms)
    if comparable:
        table.add_column("generator / files", justify="right")
    for name in next(iter(found.values())):
        values = {form: of[name] for form, of in found.items()}
        spread = args.trials > 1
        cells = [f"{v[0]:.4g}" + f" ± {v[1]:.1g}" * spread if isinstance(v, tuple) else v for v in values.values()]
        if comparable:
            ours, theirs = values[TOLD], values["files"]
            numbers = isinstance(ours, tuple) and isinstance(theirs, tuple) and theirs[0]
            cells.append(f"{ours[0] / theirs[0]:.2f}" if numbers else "")  # type: ignore[operator]
        table.add_row(name, *cells)
    return table


def _number(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
