"""Small good files of every original format, and how to read them back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from dpbench import Incidence, Records
from dpbench.sources import SOURCES

RNG = np.random.default_rng(0)


def read(reader: str, path: Path, **parameters: object):
    data = SOURCES.make(reader, path=str(path), **parameters).build(RNG)
    data.validate()
    return data


def rows_of(data: Incidence) -> list[tuple[int, ...]]:
    return [tuple(int(i) for i in part) for part in np.split(data.indices, data.indptr[1:-1])]


def records_of(data: Records) -> list[Counter]:
    users = zip(np.split(data.items, data.indptr[1:-1]), np.split(data.contexts, data.indptr[1:-1]), strict=True)
    return [Counter(zip(items.tolist(), contexts.tolist(), strict=True)) for items, contexts in users]


CHECKINS = (
    "7\t2010-10-19T23:59:59Z\t30.2359091167\t-97.7951395833\t22847\n"
    "7\t2010-10-20T00:00:00Z\t30.2\t-97.7\t22847\n"
    "7\t2010-10-17T11:26:05Z\t30\t-97.7e0\t5\n"
    "3\t2012-02-29T11:26:05Z\t-30.2\t97\t22847\n"
)
TSMC = (
    "470\t49bbd6c0f964a520f4531fe3\t4bf58dd8d48988d127951735\tArts & Crafts Store\t40.7\t-74\t-240\t"
    "Tue Apr 03 18:00:09 +0000 2012\n"
    "470\t4a43c0aef964a520c6a61fe3\t4bf5\tCaf\xe9\t40.6\t-74.0\t-240\tTue Apr 03 02:00:25 +0000 2012\n"
    "12\t49bbd6c0f964a520f4531fe3\t\t\t40.6\t-74.0\t540\tSat Dec 15 20:13:02 +0000 2012\n"
)
NETFLIX = {1: "30878,4,2005-12-26\n2647871,4,2005-12-30\n", 2: "30878,5,2000-02-29\n", 30: "9,1,2004-01-04\n"}
ADULT = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, X, <=50K\n"
HEADER = "w_geocode,h_geocode,S000,SA01,createdate\n"
RATINGS = "1:\n" + NETFLIX[1]
DOCWORD = "4\n6\n3\n1 2 1\n1 6 9\n3 1 2\n"
LODES = HEADER + "110010001011000,110010002011001,3,1,20251202\n"
GOOD = {
    "snap_checkins": CHECKINS,
    "tsmc2014": TSMC,
    "netflix_prize": RATINGS,
    "uci_bag_of_words": DOCWORD,
    "fimi": "1 2\n3\n",
    "node_lines": "1 2\n3\n",
    "uci_adult": ADULT,
    "lodes_od": LODES,
}
