"""`figures`: draws every figure and table from the stored trials: PNG, PDF, and the numbers as CSV.

What was not run here is drawn from the record, the reproduction at the size of the papers. Names of such files end in @record.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpbench.config.catalogue import options
from dpbench.errors import output_folder, unknown
from dpbench.figures.metadata import EVERY_FORMAT, FORMATS
from dpbench.model.run import Run
from dpbench.storage import record
from dpbench.storage.commands import RESULTS, not_run, run_command, stored
from dpbench.storage.files import inside

if TYPE_CHECKING:
    from dpbench.figures.text_tables import TextTable


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench figures", description=__doc__)
    parser.add_argument(
        "experiment",
        nargs="*",
        help="ids such as gs/fig9, papers such as gs, or names of runs (default: all that were run or are on record)",
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the runs (default: results)")
    parser.add_argument(
        "--format", nargs="+", choices=EVERY_FORMAT, default=FORMATS, help="formats of the pictures (default: png pdf)"
    )
    parser.add_argument("--tex", action="store_true", help="also write the numbers as a LaTeX table (booktabs)")
    parser.add_argument("--markdown", action="store_true", help="also write the numbers as a Markdown table")
    args = parser.parse_args(argv)
    output_folder("--results ", args.results)
    texts = [kind for kind, asked in (("tex", args.tex), ("md", args.markdown)) if asked]
    runs = Run.each(args.results)
    known = [*options("experiment"), *(run.name for run in runs.values())]
    asked = _asked(args.experiment, list(dict.fromkeys([*known, *runs])))
    recorded = record.names()
    done = runs if recorded else stored(args.results)
    from dpbench.figures.draw import CannotDraw, save
    from dpbench.figures.text_tables import table_of

    # A name means both the run on generated data and the run on original files.
    wanted = {label: run for label, run in done.items() if not asked or {label, run.name} & {*asked}}
    there = {word for label, run in done.items() for word in (label, run.name)}
    missing = [name for name in (asked or options("experiment")) if name not in there]
    failed = 0
    for label, run in wanted.items():
        try:
            files, remarks = save(run, formats=args.format)
            files += _write_texts(texts, args.results, label, partial(table_of, run))
        except CannotDraw as problem:
            failed += 1
            print(f"dpbench: {label}: {problem}", file=sys.stderr)
            continue
        for path in files:
            print(f"wrote {path}")
        for remark in remarks:
            print(f"note: {label}: {remark}")
    for name in [name for name in missing if name in recorded]:
        failed += not _draw_record(name, args.results, args.format, texts)
        missing.remove(name)
    if asked:
        for name in missing:
            print(f"missing: {name}: {run_command(name, args.results)}")
    elif missing:
        command = run_command(missing[0], args.results)
        print(f"{not_run(len(missing))}, such as {missing[0]}: {command}")
    nothing = not wanted and not recorded
    return 1 if failed or (missing and asked) or nothing else 0


def _asked(words: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names that were given; the name of a paper means all of its experiments."""
    found: dict[str, None] = {}
    for word in words:
        names = [word] if word in known else [name for name in known if name.startswith(f"{word}/")]
        if not names:
            raise unknown("experiment or paper", word, known)
        found |= dict.fromkeys(names)
    return list(found)


def _draw_record(name: str, results: Path, formats: Sequence[str], texts: Sequence[str]) -> bool:
    """Draw the recorded numbers of an experiment that was not run here. False if that fails."""
    from dpbench.figures.draw import CannotDraw, record_tables, save_record
    from dpbench.figures.text_tables import table_of_record

    found = record.read(name)
    assert found is not None
    try:
        files = save_record(found, results, formats)
        files += _write_texts(texts, results, f"{name}@record", lambda: table_of_record(found, record_tables(found)[0]))
        for path in files:
            print(f"wrote {path} (not run here: recorded at {found.commit})")
    except CannotDraw as problem:
        print(f"dpbench: {name}: {problem}", file=sys.stderr)
        return False
    return True


def _write_texts(kinds: Sequence[str], results: Path, name: str, make: Callable[[], TextTable]) -> list[Path]:
    """Write a table as text, in these kinds."""
    files = []
    table = make() if kinds else None
    for kind in kinds:
        assert table is not None
        path = inside(results, results / "figures" / f"{name}.{kind}")
        path.write_text(table.latex() if kind == "tex" else table.markdown(), encoding="utf-8")
        files.append(path)
    return files
