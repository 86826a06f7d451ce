"""`data`: lists datasets and what is stored of them; shows a dataset's card, shape and calibration; fetches original files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table

from dpbench.cli import common, data_show
from dpbench.config import catalogue
from dpbench.config.catalogue import DatasetEntry
from dpbench.errors import UserError, unknown
from dpbench.paths import cache
from dpbench.sources import cards

ROOMY = 110  # smallest terminal width at which titles fit beside the other columns
ORIGINAL = (
    "Originals: get = python -m dpbench data get NAME; own = your own files, by dataset.NAME.path=FOLDER; - = none."
)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench data", description=__doc__)
    verbs = parser.add_subparsers(dest="what", required=True, metavar="list | show NAME | get NAME | where")
    verbs.add_parser("list", help="every dataset: its kind, and what is stored here")
    show = verbs.add_parser("show", help="card, statistics beside the paper's, shape, generator against original")
    show.add_argument("name")
    show.add_argument("parameters", nargs="*", help="parameters of the generator or reader, such as ids=all")
    show.add_argument("--path", help="the original files (default: what `data get` fetched)")
    show.add_argument(
        "--scale", default="laptop", help="scale of the generator: smoke, laptop or paper (default: laptop)"
    )
    show.add_argument("--epsilon", default="ln2", help="budget of the compared mechanisms (default: ln2)")
    show.add_argument("--trials", type=int, default=5, help="trials per mechanism; 0: compare shapes only (default: 5)")
    get = verbs.add_parser("get", help="fetch the original files from their official address")
    get.add_argument("name")
    get.add_argument("--from", dest="mirror", help="another address of the same files")
    get.add_argument(
        "--again", action="store_true", help="fetch again; the old files are kept until the new ones are complete"
    )
    verbs.add_parser("where", help="the folders of downloads and of built data")
    args, rest = parser.parse_known_args(argv)
    if any(word.startswith("-") for word in rest) or (rest and args.what != "show"):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:  # parameters after an option
        args.parameters += rest
    console = common.console()
    if getattr(args, "name", None) and args.name not in catalogue.options("dataset"):
        raise unknown("dataset", args.name, catalogue.options("dataset"))
    verb: Callable[[argparse.Namespace, Console], int] = {
        "list": _list,
        "show": data_show.show,
        "get": _get,
        "where": _where,
    }[args.what]
    return verb(args, console)


def _list(args: argparse.Namespace, console: Console) -> int:
    table = Table(caption=ORIGINAL, caption_justify="left")
    heads = ["name", "kind", "here", "original", "what it is"]
    heads = heads if console.width >= ROOMY else heads[:-1]  # `show` also has the title
    for head in heads:
        table.add_column(head, no_wrap=head in ("name", "kind", "original"))
    for name in catalogue.options("dataset"):
        entry, card = catalogue.dataset(name), cards.load(name)
        original = "fetched" if cards.fetched(name) else "get" if card.files else "own" if entry.files else "-"
        row = (name, entry.kind or "any", _here(entry), original, card.title)
        table.add_row(*row[: len(heads)])
    console.print(table)
    return 0


def _here(entry: DatasetEntry) -> str:
    """Which forms of a dataset are already on this machine."""
    from dpbench.config.catalogue import SCALES
    from dpbench.config.entries import dataset_of
    from dpbench.sources.cache import origins, peek

    built = [s for s in SCALES if entry.generator and peek(dataset_of(entry.generated(), s).spec)]
    came = origins(entry.name)
    # Built data may also have another kind or other parameters than those of the scales.
    found = [f"generated ({', '.join(built)})"] if built else ["generated"] if None in came else []
    found += ["files"] if cards.fetched(entry.name) or came - {None} else []
    return ", ".join(found) or "nothing"


def _where(args: argparse.Namespace, console: Console) -> int:
    for what, folder in (("built data", cache() / "data"), ("downloads", cards.downloads())):
        size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) if folder.is_dir() else 0
        console.print(f"{what}: {folder} ({size / 1e6:,.1f} MB)", highlight=False, soft_wrap=True)
    console.print(f"cards: {cards.CARDS}", highlight=False, soft_wrap=True)
    console.print("DPBENCH_CACHE names another folder for the first two.", highlight=False)
    return 0


def _get(args: argparse.Namespace, console: Console) -> int:
    from dpbench.sources.download.fetch import FetchError, fetch

    card = cards.load(args.name)
    notes = common.notes()
    before = (cards.downloads() / args.name).is_dir()
    if args.again or not before:
        data_show.print_facts(card, console)
        if not card.files:
            raise UserError(_no_address(card))
    try:
        with _progress(notes) as progress:
            folder, found = fetch(card, mirror=args.mirror, again=args.again, progress=progress)
    except FetchError as error:
        kept = "; the files fetched before are kept" if args.again and before else ""
        notes.print(f"dpbench: {error}{kept}", soft_wrap=True, markup=False)
        return 1
    for file in card.files:
        known, sha256 = file.checksum, f"sha256:{found[file.name]}"
        unpacked = before and not args.again and not (folder / file.name).is_file()
        holds = "held when it was unpacked, and its files are unchanged" if unpacked else "holds"
        sure = "the card has no checksum to compare with" if known == cards.UNKNOWN else f"checksum {known} {holds}"
        more = f"; {sha256}" if known != sha256 else ""
        console.print(f"{file.name}: {sure}{more}", highlight=False, soft_wrap=True)
    state = "was fetched before" if before and not args.again else "is here now"
    console.print(f"{args.name} {state}: {folder}", highlight=False, soft_wrap=True)
    console.print(
        f"Use it: python -m dpbench run ... dataset.{args.name}.source=files", highlight=False, soft_wrap=True
    )
    return 0


def _no_address(card: cards.Card) -> str:
    where = f" Its page is {card.page}." if card.page else ""
    reads = catalogue.dataset(card.name).files
    use = (
        f"With the files: dataset.{card.name}.path=FOLDER" if reads else "It is generated, and no files of it are read"
    )
    return f"{card.name} has no address to fetch it from.{where} {use}"


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
