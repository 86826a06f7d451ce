"""`data show`: shows a dataset's card, its statistics beside the paper's, its shape, and its generator against the original."""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from dpbench.cli import common
from dpbench.errors import UserError
from dpbench.results.numbers import plain, with_error
from dpbench.sources import cards

if TYPE_CHECKING:
    from dpbench.compare.calibration import Measured
    from dpbench.sources.spec import DatasetSpec

BAR = 24  # characters of a full bar, if there is space
SHARE = 8  # characters of the share after a bar
TOLD = "generator, files' sizes"


def print_facts(card: cards.Card, console: Console) -> None:
    """What the original is, its publisher, its licence, and where its files are."""
    facts = {"what": card.title, "publisher": card.publisher, "page": card.page, "licence": card.licence}
    for name, fact in facts.items():
        if fact:
            console.print(f"[bold]{name}[/]: ", end="")
            console.print(str(fact), highlight=False, markup=False, soft_wrap=True)
    for file in card.files:
        about = ", ".join(filter(None, (file.size, f"checksum {file.checksum}")))
        console.print(f"[bold]file[/]: {file.address} ({about})", highlight=False, soft_wrap=True)


def show(args: argparse.Namespace, console: Console) -> int:
    """The whole page of a dataset. Returns the exit status."""
    from dpbench.compare import calibration
    from dpbench.mechanisms.base import parse_epsilon

    epsilon = parse_epsilon(args.epsilon)  # before anything is built
    card = cards.load(args.name)
    console.rule(args.name)
    print_facts(card, console)
    if card.text:
        from rich.markdown import Markdown

        console.print(Markdown(card.text))
    if card.ratios:
        console.print(f"[bold]{cards.RATIOS}[/]: {card.shown_ratios}", highlight=False)
    forms = _forms(args, common.notes())
    if not forms:
        get = f", or python -m dpbench data get {args.name}" if card.files else ""
        console.print(f"There is no data here: give --path FILE or FOLDER{get}", highlight=False)
        return 0
    console.print(_statistics(card, forms))
    for table in _shapes(forms, console.width):
        console.print(table)
    if args.trials > 0:
        kind = next(iter(forms.values())).kind
        compared = {name: data for name, data in forms.items() if TOLD not in forms or name != _scaled(args)}
        console.print(_errors(compared, calibration.MEASURES[kind], epsilon, args.trials))
    return 0


def _scaled(args: argparse.Namespace) -> str:
    return f"generator, {args.scale}"


def _forms(args: argparse.Namespace, notes: Console) -> dict[str, Any]:
    """The dataset in every available form: generated at a scale, from files, generated at the files' sizes."""
    from dpbench.compare import calibration
    from dpbench.config import catalogue
    from dpbench.config.catalogue import SCALES
    from dpbench.config.entries import dataset_of
    from dpbench.errors import one_of
    from dpbench.sources.cache import open_dataset

    one_of("--scale", args.scale, SCALES)
    given = {}
    for word in args.parameters:
        key, equals, value = word.partition("=")
        if not equals:
            raise UserError(f"cannot read {word!r}: expected a parameter such as ids=all")
        given[key] = catalogue.value(value)
    entry = catalogue.dataset(args.name).changed(given)

    def say(text: str) -> None:
        notes.print(text, markup=False, soft_wrap=True)

    def opened(form: str, spec: DatasetSpec) -> Any:
        return open_dataset(spec, say=lambda text: say(f"{form}: {text}")).data

    forms: dict[str, Any] = {}
    if entry.generator:
        generated = dataset_of(entry.generated(), args.scale)
        forms[_scaled(args)] = opened(_scaled(args), generated.spec)
    path = args.path or entry.path or cards.fetched(args.name)
    if path and not entry.files:
        raise UserError(f"{args.name} has no original files that dpbench reads: expected no --path")
    if path:
        spec = dataset_of(entry.from_files(path), args.scale).spec
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            forms["files"] = opened("files", spec)
        for warning in caught:
            say(f"warning: {warning.message}")
        try:
            told = calibration.matched(args.name, forms["files"].kind, forms["files"])
            if told is not None:
                forms[TOLD] = opened(TOLD, told)
        except UserError as error:
            say(f"The generator cannot use the files' sizes: {error}")
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


def _shapes(forms: Mapping[str, Any], width: int) -> list[Table]:
    """For each shape a table of statistics and a plot, the forms side by side, within `width` characters."""
    from dpbench.compare import calibration

    found = {name: calibration.shapes(data) for name, data in forms.items()}
    tables = []
    for shape in next(iter(found.values())):
        parts = {name: values[shape] for name, values in found.items() if shape in values}
        outlines = {name: calibration.outline(values) for name, values in parts.items()}
        table = Table(title=f"{shape[0].upper()}{shape[1:]}: quantiles of the non-empty ones")
        table.add_column("")
        for name in parts:
            table.add_column(name, justify="right")
        for key in dict.fromkeys(k for o in outlines.values() for k in o):
            table.add_row(key, *(_number(o.get(key)) for o in outlines.values()))
        bars = {name: calibration.histogram(values) for name, values in parts.items()}
        plot = Table(title=f"{shape[0].upper()}{shape[1:]}", box=None, padding=(0, 2))
        plot.add_column("", justify="right", no_wrap=True)
        for name in bars:
            plot.add_column(name)
        steps = calibration.combined(bars)
        room = (width - max(map(len, steps), default=0) - 4) // len(bars) - 4 - SHARE  # 4: the space around a column
        full = max(1, min(BAR, room))
        most = max((share for h in bars.values() for share in h.values()), default=1.0)
        for step in steps:
            plot.add_row(step, *(_bar(h.get(step, 0.0) / most, h.get(step, 0.0), full) for h in bars.values()))
        tables += [table, plot]
    return tables


def _bar(length: float, share: float, full: int) -> str:
    """A bar of this length, relative to `full` characters, and the share it represents."""
    return f"{'█' * round(full * length) or '▏'} {100 * share:.2g} %" if share else ""


def _errors(forms: Mapping[str, Any], measure: tuple[str, str], epsilon: float, trials: int) -> Table:
    from dpbench.compare.calibration import errors

    how = f"mean of {trials} trials" if trials > 1 else "one trial"
    table = Table(title=f"{measure[1]} of {measure[0]}, ε = {epsilon:.4g}, {how}")
    table.add_column("mechanism")
    for name in forms:
        table.add_column(name, justify="right")
    found = {form: errors(data, epsilon, trials) for form, data in forms.items()}
    comparable = {"files", TOLD} <= set(forms)
    if comparable:
        table.add_column("generator / files", justify="right")
    for name in next(iter(found.values())):
        values = [of[name] for of in found.values()]
        cells = [v if isinstance(v, str) else _measured(v, measure[1]) for v in values]
        if comparable:
            ours, theirs = found[TOLD][name], found["files"][name]
            numbers = not isinstance(ours, str) and not isinstance(theirs, str) and theirs.mean
            cells.append(f"{ours.mean / theirs.mean:.2f}" if numbers else "")  # type: ignore[union-attr]
        table.add_row(name, *cells)
    return table


def _measured(value: Measured, usual: str) -> str:
    """Mean and standard error, and the metric's name if it is not the one in the table's title."""
    other = "" if value.metric == usual else f"{value.metric.replace('_', ' ')}: "
    return f"{other}{with_error(value.mean, value.spread) if math.isfinite(value.spread) else plain(value.mean, 4)}"


def _number(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
