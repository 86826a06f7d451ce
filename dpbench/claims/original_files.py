"""Finds the runs on original files that the claims need, if the files are here. Imported by the judge and by `claims --run`."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from dpbench.config import catalogue
from dpbench.model.claim import Claim
from dpbench.sources import cards


@functools.cache
def of_the_papers(dataset: str) -> bool:
    """Whether a dataset's public files are the paper's own data: the card gives the same numbers for the paper and the files."""
    card = cards.load(dataset)
    both = [key for key in card.paper if key in card.original]
    return bool(both) and all(card.paper[key] == card.original[key] for key in both)


def runs_on_files(claims: Sequence[Claim]) -> Iterator[tuple[str, str | None]]:
    """Experiments to run on the files that are here, each with the dataset to read from files.

    The dataset is None if the experiment always reads files. A claim's own experiment runs on files only if they are the
    paper's own data, or the files that the claim requires. Files of other data are used by the experiments in `claim.also`.
    """
    runs: dict[tuple[str, str | None], None] = {}
    for claim in claims:
        if not claim.experiment or claim.untestable:
            continue
        for name in catalogue.axes(claim.experiment).datasets:
            own = name == claim.original or of_the_papers(name)
            if own and _is_here(name) and catalogue.dataset(name).source != "files":
                runs[claim.experiment, name] = None
        for experiment in claim.also:
            if any(map(_is_here, catalogue.axes(experiment).datasets)):
                runs[experiment, None] = None
    yield from runs


def _is_here(dataset: str) -> bool:
    return bool(catalogue.dataset(dataset).path or cards.fetched(dataset))
