"""`board`: the boards of the record with your own mechanisms among them. `add` checks the trials of your class and writes an
entry, one small text file; `show` and `publish` rank all entries in the folder `board`; `check` tests them
without running any code of their authors."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from dpbench.cli.common import console, notes, parser_of
from dpbench.errors import UserError, output_folder, positive

if TYPE_CHECKING:
    from dpbench.ranking.submission import Entry

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
        verb = verbs.add_parser(name, help=text, description=text)
        verb.add_argument("--board", type=Path, default=FOLDER, help="folder of the entries (default: board)")
        return verb

    enter = sub(
        "add", "enter your class, from a results folder: checks its code, computes some trials again and audits it"
    )
    add = enter.add_argument
    add("folder", type=Path, help="results folder, such as `compare mine.Rounded --scale laptop` leaves")
    add("--mechanism", required=True, help="your class by dotted path or entry point: mine.Rounded(step=5)")
    add("--experiment", help="the board (default: that of the newest run of the class)")
    add("--scale", help="smoke, laptop or paper (default: that of the newest run of the class)")
    add("--rerun", type=int, default=RERUN, help=f"trials that are computed again (default: {RERUN})")
    add("--seed", type=int, default=0, help="seed of their random choice (default: 0)")
    add("--no-rerun", action="store_true", help="compute nothing again: the entry is only claimed")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="such as dataset.movielens.path=FOLDER")
    about = "for maintainers: run the class of an entry again, and mark the entry; this runs its author's code"
    add = sub("verify", about).add_argument
    add("entry", type=Path, help="file of the entry")
    add("--mechanism", required=True, help="the class, which you have read: never taken from the entry")
    add("--settings", type=int, default=2, help="random settings that are run again (default: 2)")
    add("--seed", type=int, default=0, help="seed of their choice (default: 0)")
    show = sub("show", "print the boards of the record with the entries among them")
    show.add_argument("--experiment", help="only this board, with every mechanism")
    publish = sub("publish", "write a static site of all boards, which needs no network")
    publish.add_argument("output", type=Path, help="folder of the site")
    sub("check", "test the form, seals and identity of all entries; runs nobody's code; exit status 1 if one is bad")
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
    entry = add(request, _say)
    path = write(args.board, entry)
    status = _print_entry(entry)
    console().print(f"wrote {path}; see it: python -m dpbench board show --experiment {entry.experiment}")
    return status


def _print_entry(entry: Entry) -> int:
    """The mark of an entry, and why it is not a better one. Exit status 1 if its guarantee does not hold."""
    because = f" ({entry.because})" if entry.because else ""
    console().print(f"{escape(entry.called)}: [bold]{entry.mark}[/]{escape(because)}")
    if entry.violated:
        console().print(f"[red]{escape(entry.audit)}[/]: it has no rank")
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
    file = next((file for file in read_all(args.entry.parent) if file.path == args.entry), None)
    if file is None or file.entry is None:
        raise UserError(f"{args.entry} is no entry of a board: {file.problem if file else 'there is no such file'}")
    entry = verify(file.entry, args.mechanism, settings=args.settings, seed=args.seed, say=_say)
    write(args.entry.parent, entry)
    return _print_entry(entry)


def _say(text: str) -> None:
    notes().print(escape(text))


def _entries(folder: Path) -> list[Entry]:
    """The good entries; bad ones are named."""
    from dpbench.ranking.submission import read_all

    good = []
    for file in read_all(folder):
        if file.entry is None:
            _say(f"left out: {file.path}: {file.problem}")
        else:
            good.append(file.entry)
    return good


def _show(args: argparse.Namespace) -> int:
    from dpbench.cli.recorded_boards import board_table, require_board
    from dpbench.ranking.joint import joint_boards
    from dpbench.ranking.rows import BOARDS

    require_board(args.experiment)
    out = console()
    boards = [board for board in joint_boards(_entries(args.board)) if args.experiment in (None, board.experiment)]
    if not boards:
        raise UserError(
            f"{args.experiment or 'no board'} is not on record, and has no entry: expected one of {', '.join(BOARDS)}"
        )
    for board in boards:
        for guarantee in board.boards:
            own = [row for row in board.rows if row.board is guarantee]
            entered = [row for row in own if row.command.startswith("python -m dpbench compare")]
            shown = own if args.experiment or entered else own[:3]
            out.print(board_table(f"{board.title}: {guarantee.told}", shown, entered))
    if args.experiment is None:
        out.print("Boards without entries are cut; all of one: python -m dpbench board show --experiment cross/real")
    return 0


def _publish(args: argparse.Namespace) -> int:
    output_folder("", args.output)
    from dpbench.report.board_site import publish

    path = publish(args.output, args.board, _say)
    print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


def _check(args: argparse.Namespace) -> int:
    from dpbench.ranking.submission import read_all
    from dpbench.ranking.verification import problems

    if not args.board.is_dir():
        raise UserError(f"--board {args.board} is not a folder: expected one with entries, made by `board add`")
    out, bad, entries = console(), 0, [*read_all(args.board)]
    for file in entries:
        wrong = [file.problem] if file.entry is None else problems(file.entry)
        bad += bool(wrong)
        mark = "" if file.entry is None else f" ({file.entry.mark})"
        out.print(f"{escape(file.path.name)}{mark}: {escape('; '.join(wrong)) or 'in order'}")
    out.print(
        f"{len(entries)} entries, {bad} of them bad; marks are those that the files state: only `board verify` computes again"
    )
    return 1 if bad else 0
