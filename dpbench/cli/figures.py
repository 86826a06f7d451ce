"""`figures`: draws every figure and table from the stored trials: PNG, PDF, and the numbers as CSV.

What was not run here is drawn from the record, the reproduction at the size of the papers. Names of such files end in @record.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from dpbench.cli.common import add_results, parser_of
from dpbench.config.catalogue import options
from dpbench.errors import output_folder, unknown
from dpbench.figures.metadata import EVERY_FORMAT, FORMATS
from dpbench.model.record import Record
from dpbench.model.run import Run
from dpbench.storage import record
from dpbench.storage.commands import not_run, run_command, stored
from dpbench.storage.files import inside


def main(argv: list[str]) -> int:
    parser = parser_of("figures", __doc__)
    add = parser.add_argument
    what = "ids such as gs/fig9, papers such as gs, or names of runs (default: all that were run or are on record)"
    add("experiment", nargs="*", help=what)
    add_results(parser)
    formats = "formats of the pictures (default: png pdf)"
    add("--format", nargs="+", choices=EVERY_FORMAT, default=FORMATS, help=formats)
    add("--tex", action="store_true", help="also write the numbers as a LaTeX table (booktabs)")
    add("--markdown", action="store_true", help="also write the numbers as a Markdown table")
    args = parser.parse_args(argv)
    output_folder("--results ", args.results)
    runs, recorded = Run.each(args.results), record.names()
    known = [*options("experiment"), *(run.name for run in runs.values())]
    asked = _asked(args.experiment, list(dict.fromkeys([*known, *runs])))
    done = runs if recorded else stored(args.results)
    # A name means both the run on generated data and the run on original files.
    wanted = [run for label, run in done.items() if not asked or {label, run.name} & {*asked}]
    there = {word for label, run in done.items() for word in (label, run.name)}
    missing = [name for name in (asked or options("experiment")) if name not in there]
    drawn = [_draw(run, args) for run in wanted]
    drawn += [_draw(kept, args) for name in missing if name in recorded and (kept := record.read(name)) is not None]
    missing = [name for name in missing if name not in recorded]
    if asked:
        for name in missing:
            print(f"missing: {name}: {run_command(name, args.results)}")
    elif missing:
        print(f"{not_run(len(missing))}, such as {missing[0]}: {run_command(missing[0], args.results)}")
    return 1 if not all(drawn) or (missing and asked) or not (wanted or recorded) else 0


def _asked(words: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names that were given; the name of a paper means all of its experiments."""
    asked: dict[str, None] = {}
    for word in words:
        names = [word] if word in known else [name for name in known if name.startswith(f"{word}/")]
        if not names:
            raise unknown("experiment or paper", word, known)
        asked |= dict.fromkeys(names)
    return list(asked)


def _draw(shown: Run | Record, args: argparse.Namespace) -> bool:
    """Draw a run, or the recorded numbers of an experiment that was not run here. False if that fails."""
    from dpbench.figures.draw import CannotDraw, record_tables, save, save_record
    from dpbench.figures.text_tables import table_of, table_of_record

    label = shown.label if isinstance(shown, Run) else f"{shown.experiment}@record"
    remarks: list[str] = []
    try:
        if isinstance(shown, Run):
            files, remarks = save(shown, formats=args.format)
        else:
            files = save_record(shown, args.results, args.format)
        if args.tex or args.markdown:
            table = table_of(shown) if isinstance(shown, Run) else table_of_record(shown, record_tables(shown)[0])
            texts = ({"tex": table.latex()} if args.tex else {}) | ({"md": table.markdown()} if args.markdown else {})
            for kind, text in texts.items():
                files.append(inside(args.results, args.results / "figures" / f"{label}.{kind}"))
                files[-1].write_text(text, encoding="utf-8")
    except CannotDraw as problem:
        print(f"dpbench: {label.removesuffix('@record')}: {problem}", file=sys.stderr)
        return False
    where = "" if isinstance(shown, Run) else f" (not run here: recorded at {shown.commit})"
    for path in files:
        print(f"wrote {path}{where}")
    for remark in remarks:
        print(f"note: {label}: {remark}")
    return True
