"""One page per dataset: its card, its sizes and the experiments that use it."""

from __future__ import annotations

from pathlib import Path

from dpbench.cli.data_calibration import number
from dpbench.config import catalogue
from dpbench.ranking.worlds import calibration
from dpbench.sources.cards import load
from pages.markdown import page, plain, table, toctree
from pages.papers import experiment_link

SCALE = "laptop"
"""At which worlds are built and counted for the pages: the papers' sizes would take minutes."""


def pages(_folder: Path, scale: str = SCALE) -> dict[str, str]:
    names = catalogue.options("dataset")
    return {"index": index_page(names), **{name: dataset_page(name, scale) for name in names}}


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


def dataset_page(name: str, scale: str = SCALE) -> str:
    card = load(name)
    used = [e for e in catalogue.options("experiment") if name in catalogue.axes(e).datasets]
    text = card.markdown() if card.text else f"# {name}\n\nThis dataset has no card yet."
    if not text.startswith("# "):
        text = f"# {name}\n\n{text}"
    return page(
        text,
        worlds_section(name, scale),
        "## Experiments that use it\n\n" + "\n".join(f"- {experiment_link(e)}" for e in used) if used else "",
    )


def worlds_section(name: str, scale: str) -> str:
    """What each world assumes, and its statistics beside those that are printed and published, counted in the built data."""
    entry = catalogue.dataset(name)
    if not entry.worlds:
        return ""
    assumed = [
        (f"`{world.name}`", plain(world.says), plain("; ".join(world.constrained_by)))
        for world in entry.worlds.values()
    ]
    ours: dict[str, list[str]] = {}
    for row in calibration(entry, scale):
        start = [plain(row.statistic.replace("_", " ")), plain(number(row.printed)), plain(number(row.published))]
        ours.setdefault(row.statistic, [*start, plain(row.source)]).insert(-1, number(row.ours))
    return page(
        "## Worlds",
        "Stand-ins that agree with what is printed and published, and differ in what is not known. The first one is the default; "
        f"`dataset.{name}.world=NAME` chooses another, `world=all` runs all of them.",
        table(("world", "what is assumed", "made to meet"), assumed),
        f"Counted at {scale} scale with data seed 0, where most sizes are smaller than those printed; "
        f"`python -m dpbench data calibration {name} --scale paper` counts at the papers' sizes.",
        table(
            ("statistic", "printed", "published", *(f"`{world}`" for world in entry.worlds), "source"), ours.values()
        ),
    )
