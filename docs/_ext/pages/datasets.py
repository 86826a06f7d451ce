"""One page per dataset: its card, its sizes and the experiments that use it."""

from __future__ import annotations

from pathlib import Path

from dpbench.config import catalogue
from dpbench.sources.cards import load
from pages.markdown import page, plain, table, toctree
from pages.papers import experiment_link


def pages(_folder: Path) -> dict[str, str]:
    names = catalogue.options("dataset")
    return {"index": index_page(names), **{name: dataset_page(name) for name in names}}


def index_page(names: list[str]) -> str:
    rows = []
    for name in names:
        card, entry = load(name), catalogue.dataset(name)
        original = "to fetch" if card.files else "bring your own files" if card.publisher else "-"
        rows.append((f"[{name}]({name}.md)", plain(card.title), entry.kind, original))
    return page(
        "# Datasets",
        "Everything runs on generated data, which has the statistics that the papers state. If the original is public, its "
        "files can be used instead: see [Use the original data](../howto/original_data.md). For a file of your own, see "
        "[Your own data](../tutorials/own_data.md).",
        table(("name", "what it is", "kind", "original files"), rows),
        toctree(names),
    )


def dataset_page(name: str) -> str:
    card = load(name)
    used = [e for e in catalogue.options("experiment") if name in catalogue.axes(e).datasets]
    text = card.markdown() if card.text else f"# {name}\n\nThis dataset has no card yet."
    if not text.startswith("# "):
        text = f"# {name}\n\n{text}"
    return page(
        text,
        "## Experiments that use it\n\n" + "\n".join(f"- {experiment_link(e)}" for e in used) if used else "",
    )
