"""A run as a notebook shows it: a table of means with standard errors. Imported by `Run` when one is shown."""

from __future__ import annotations

import html
import re

from dpbench.model.run import Run
from dpbench.storage.frame import PAIRS, metric_names
from dpbench.storage.numbers import MARK, with_error

MOST = 60  # rows shown


def page(run: Run) -> str:
    """The table as HTML, without scripts or styles."""
    summary = run.summary()
    if summary.empty:
        return f"<p>{html.escape(repr(run))}: no trial is finished</p>"
    trials = run.trials()
    measured = [name for name in metric_names(trials) if name in summary.columns and name not in PAIRS]
    metrics = [name for name in run.metrics if name in summary.columns] or measured[:2]
    labels = [name for name in dict.fromkeys(n for s in run.settings for n in s.labels()) if name in summary.columns]
    rows, caveats = [], run.caveats
    for row in summary.head(MOST).to_dict("records"):
        values = [row[name] for name in labels]
        cells = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in values]
        cells = [
            cell + MARK * (name == "mechanism" and cell in caveats) for name, cell in zip(labels, cells, strict=True)
        ]
        cells += [with_error(row[name], row.get(f"{name}_se")) for name in metrics]
        rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    heads = "".join(f"<th>{html.escape(str(name))}</th>" for name in (*labels, *metrics))
    more = f"<p>and {len(summary) - MOST} more: run.summary() has them all</p>" if len(summary) > MOST else ""
    notes = "<br>".join(html.escape(note) for note in (*run.origins(), *run.remarks()))
    notes = re.sub(r"`([^`]+)`", r"<code>\1</code>", notes)
    title = html.escape(run.title or run.name)
    return (
        f"<p><b>{title}</b>, scale {html.escape(run.scale)}, {run.describe_trials()}</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}<p>{notes}</p>"
    )
