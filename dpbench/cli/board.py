"""`board`: the boards of the record with your own mechanisms among them. `add` checks the trials of your class and writes an
entry, one small text file; `show` and `publish` rank all entries in the folder `board`; `check` tests them and runs no code of
anybody."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.table import Column, Table

from dpbench.cli.common import console, notes, parser_of
from dpbench.errors import UserError, output_folder, positive

EXAMPLES = """examples:
  python -m dpbench compare mine.Rounded --scale laptop
  python -m dpbench board add results --mechanism mine.Rounded
  python -m dpbench board show
  python -m dpbench board publish site
  python -m dpbench board check
  python -m dpbench board verify board/FILE.json --mechanism mine.Rounded
"""


def main(argv: list[str]) -> int:
    args = _parser().parse_args(argv)
    verbs = {"add": _add, "verify": _verify, "show": _show, "publish": _publish, "check": _check}
    return verbs[args.verb](args)


def _parser() -> argparse.ArgumentParser:
    from dpbench.ranking.submission import FOLDER
    from dpbench.ranking.verification import RERUN

    parser = parser_of("board", __doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|show|publish|check|verify")

    def sub(name: str, text: str) -> argparse.ArgumentParser:
        one = verbs.add_parser(name, help=text, description=text)
        one.add_argument("--board", type=Path, default=FOLDER, help="folder of the entries (default: board)")
        return one

    add = sub(
        "add", "enter your class, from a results folder: checks its code, computes some trials again and audits it"
    )
    add.add_argument("folder", type=Path, help="results folder, such as `compare mine.Rounded --scale laptop` leaves")
    add.add_argument(
        "--mechanism", required=True, help="your class by dotted path or entry point: mine.Rounded(step=5)"
    )
    add.add_argument("--experiment", help="the board (default: that of the newest run of the class)")
    add.add_argument("--scale", help="smoke, laptop or paper (default: that of the newest run of the class)")
    add.add_argument("--rerun", type=int, default=RERUN, help=f"trials that are computed again (default: {RERUN})")
    add.add_argument("--seed", type=int, default=0, help="seed of their random choice (default: 0)")
    add.add_argument("--no-rerun", action="store_true", help="compute nothing again: the entry is only claimed")
    add.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="such as dataset.movielens.path=FOLDER")
    verify = sub(
        "verify", "for maintainers: run the class of an entry again, and mark the entry; this runs its author's code"
    )
    verify.add_argument("entry", type=Path, help="file of the entry")
    verify.add_argument("--mechanism", required=True, help="the class, which you have read: never taken from the entry")
    verify.add_argument("--settings", type=int, default=2, help="random settings that are run again (default: 2)")
    verify.add_argument("--seed", type=int, default=0, help="seed of their choice (default: 0)")
    show = sub("show", "print the boards of the record with the entries among them")
    show.add_argument("--experiment", help="only this board, with every mechanism")
    publish = sub("publish", "write a static site of all boards, which needs no network")
    publish.add_argument("output", type=Path, help="folder of the site")
    sub(
        "check",
        "test the form, the seals and the identity of all entries; runs nobody's code; exit status 1 if one is bad",
    )
    return parser


def _add(args: argparse.Namespace) -> int:
    from dpbench.ranking.submission import write
    from dpbench.ranking.verification import Request, add

    output_folder("--board ", args.board)
    if not args.no_rerun:
        positive("--rerun", args.rerun, whole=True)
    overrides = dict(_pair(word) for word in args.overrides)
    rerun = 0 if args.no_rerun else args.rerun
    request = Request(args.folder, args.mechanism, args.experiment, args.scale, rerun, args.seed, overrides)
    entry = add(request, lambda text: notes().print(escape(text)))
    path = write(args.board, entry)
    out = console()
    out.print(f"{escape(entry.called)}: [bold]{entry.mark}[/]{escape(f' ({entry.because})' if entry.because else '')}")
    if entry.violated:
        out.print(f"[red]{escape(entry.audit)}[/]: it has no rank")
    out.print(f"wrote {path}; see it: python -m dpbench board show --experiment {entry.experiment}")
    return 1 if entry.violated else 0


def _pair(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not key.startswith("dataset."):
        raise UserError(f"{word} is not valid: expected the place of a dataset's files, dataset.NAME.path=FOLDER")
    return key, value


def _verify(args: argparse.Namespace) -> int:
    from dpbench.ranking.submission import read_all, write
    from dpbench.ranking.verification import verify

    positive("--settings", args.settings, whole=True)
    found = [one for one in read_all(args.entry.parent) if one.path == args.entry]
    if not found or found[0].entry is None:
        raise UserError(
            f"{args.entry} is no entry of a board: {found[0].problem if found else 'there is no such file'}"
        )
    entry = verify(
        found[0].entry,
        args.mechanism,
        settings=args.settings,
        seed=args.seed,
        say=lambda text: notes().print(escape(text)),
    )
    write(args.entry.parent, entry)
    console().print(
        f"{escape(entry.called)}: [bold]{entry.mark}[/]{escape(f' ({entry.because})' if entry.because else '')}"
    )
    return 1 if entry.violated else 0


def _entries(folder: Path) -> list:  # type: ignore[type-arg]
    """The good entries; bad ones are named."""
    from dpbench.ranking.submission import read_all

    good = []
    for one in read_all(folder):
        if one.entry is None:
            notes().print(f"left out: {escape(str(one.path))}: {escape(one.problem)}")
        else:
            good.append(one.entry)
    return good


def _show(args: argparse.Namespace) -> int:
    from dpbench.errors import unknown
    from dpbench.ranking.joint import joint_boards
    from dpbench.ranking.rows import BOARDS

    if args.experiment is not None and args.experiment not in BOARDS:
        raise unknown("board", args.experiment, BOARDS)
    out = console()
    boards = [one for one in joint_boards(_entries(args.board)) if args.experiment in (None, one.experiment)]
    if not boards:
        raise UserError(
            f"{args.experiment or 'no board'} is not on record, and has no entry: expected one of {', '.join(BOARDS)}"
        )
    heads = ("mechanism", "mark", "standing", "regret (95 %)", "close to the best", "audit")
    for board in boards:
        for guarantee in board.boards:
            columns = (Column(head, overflow="fold") for head in heads)
            title = f"{board.title}: {guarantee.told}"
            table = Table(*columns, title=title, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
            own = [row for row in board.rows if row.board is guarantee]
            entered = [row for row in own if row.command.startswith("python -m dpbench compare")]
            for row in own if args.experiment or entered else own[:3]:
                standing = "; ".join(filter(None, (row.mark, row.standing)))
                close = f"{row.competitive} of {row.settings}"
                bold = "bold" if row in entered else ""
                cells = (row.who, row.status, standing, row.regret_text, close, row.audit)
                table.add_row(*map(escape, cells), style=bold)
            out.print(table)
    if args.experiment is None:
        out.print("Boards without entries are cut; all of one: python -m dpbench board show --experiment cross/real")
    return 0


def _publish(args: argparse.Namespace) -> int:
    output_folder("", args.output)
    from dpbench.report.board_site import publish

    path = publish(args.output, args.board, lambda text: notes().print(escape(text)))
    print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


def _check(args: argparse.Namespace) -> int:
    from dpbench.ranking.submission import read_all
    from dpbench.ranking.verification import problems

    if not args.board.is_dir():
        raise UserError(f"--board {args.board} is not a folder: expected one with entries, made by `board add`")
    out, bad, entries = console(), 0, [*read_all(args.board)]
    for one in entries:
        wrong = [one.problem] if one.entry is None else problems(one.entry)
        bad += bool(wrong)
        mark = "" if one.entry is None else f" ({one.entry.mark})"
        out.print(f"{escape(one.path.name)}{mark}: {escape('; '.join(wrong)) or 'in order'}")
    out.print(
        f"{len(entries)} entries, {bad} of them bad; marks are those that the files state: only `board verify` computes again"
    )
    return 1 if bad else 0
