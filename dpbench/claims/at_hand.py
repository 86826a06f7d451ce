"""Which runs on original files the claims ask for, of the files that are here. Imported by the judge and by `claims --run`."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from dpbench.claims.ledger import Claim
from dpbench.config import catalogue
from dpbench.sources import cards


@functools.cache
def of_the_papers(dataset: str) -> bool:
    """Whether the public files of a dataset are the data of the paper: every number that its card has of both is the same."""
    card = cards.load(dataset)
    both = [key for key in card.paper if key in card.original]
    return bool(both) and all(card.paper[key] == card.original[key] for key in both)


def runs_on_files(claims: Sequence[Claim]) -> Iterator[tuple[str, str | None]]:
    """Experiments to run on files that were fetched, each with the dataset to read from them; None: it reads them by itself.

    A claim is decided on the paper's own data where they are here. Files of other data are looked at by the experiments that
    the claim names beside its own.
    """
    found: dict[tuple[str, str | None], None] = {}
    for claim in claims:
        if not claim.experiment or claim.untestable:
            continue
        for name in catalogue.axes(claim.experiment).datasets:
            own = name == claim.original or of_the_papers(name)
            if own and _is_here(name) and catalogue.dataset(name).source != "files":
                found[claim.experiment, name] = None
        for experiment in claim.also:
            if any(map(_is_here, catalogue.axes(experiment).datasets)):
                found[experiment, None] = None
    yield from found


def _is_here(dataset: str) -> bool:
    return bool(catalogue.dataset(dataset).path or cards.fetched(dataset))
