"""The papers by their short names: their titles, and the order of groups on the page. Imported by the report and the docs."""

from __future__ import annotations

PAPERS = {
    "gs": "Kellaris and Papadopoulos: Practical Differential Privacy via Grouping and Smoothing, PVLDB 2013",
    "sparse": "Cormode, Procopiuc, Srivastava and Tran: Differentially Private Publication of Sparse Data, ICDT 2012",
    "analytics": "Fan and Jin: A Practical Framework for Privacy-Preserving Data Analytics, WWW 2015",
    "sensitivity": "Day and Li: Differentially Private Publishing of High-dimensional Data Using Sensitivity Control, "
    "AsiaCCS 2015",
    "epicrec": "Shen and Jin: EpicRec: Towards Practical Differentially Private Framework for Personalized Recommendation, "
    "CCS 2016",
    "cross": "Across the papers: what none of them compares",
}
COMPARED = "cross"
"""Experiments in which mechanisms are ranked."""
OWN = "own"
"""The group of runs with names of their own: variations of experiments, and ad-hoc runs."""
OWN_TITLE = "Your own runs: variations, and chosen datasets and mechanisms. Not figures of a paper"


def title_of(paper: str) -> str:
    """What a group of experiments or claims is called. A name that is not of a paper is the user's own."""
    return OWN_TITLE if paper == OWN else PAPERS.get(paper, "Your own experiments and claims")


def rank(paper: str) -> int:
    """The order of groups: what is the user's own first, then the papers."""
    return list(PAPERS).index(paper) if paper in PAPERS else -2 if paper == OWN else -1
