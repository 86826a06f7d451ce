"""What the cards state of original files, against the files themselves where they are at hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpbench.config import catalogue
from dpbench.config.catalogue import options
from dpbench.config.entries import dataset_of
from dpbench.data import Data
from dpbench.ranking import calibration
from dpbench.sources import cards
from dpbench.sources.cache import open_dataset

from support.paths import real_data

# The files whose statistics a card states, and those its ratios are measured on where they are others (samples of it).
COUNTED = {
    "adult": ("adult",),
    "bms_webview": ("fimi", "BMS-WebView-1.dat.gz"),
    "kos": ("bagofwords",),
    "movielens": ("movielens-1m",),
    "movielens_genres": ("movielens-1m",),
    "onthemap": ("lodes",),
    "retail": ("fimi", "retail.dat.gz"),
    "transactions": ("fimi", "retail.dat.gz"),
}
SAMPLES = {
    "checkin": ("gowalla", "checkins_sample.txt.gz"),
    "document": ("bagofwords",),
    "foursquare": ("foursquare",),
    "gowalla": ("gowalla", "checkins_sample.txt.gz"),
}
CARDS = {name: cards.load(name) for name in options("dataset")}


def original(name: str, place: tuple[str, ...]) -> Data:
    entry = catalogue.dataset(name).from_files(real_data(*place))
    return open_dataset(dataset_of(entry, "paper")).data


def digits(value: Any) -> int:
    """After the point, as the card writes them."""
    return len(str(value).partition(".")[2])


@pytest.mark.parametrize("name", COUNTED)
def test_statistics_are_those_of_the_files(name: str) -> None:
    stated = {key: value for key, value in CARDS[name].original.items() if key != "of"}
    counted = original(name, COUNTED[name]).statistics()
    assert stated
    assert stated == {key: round(counted[key], digits(value)) for key, value in stated.items()}


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if card.ratios])
def test_ratios_name_mechanisms_that_take_the_data(name: str) -> None:
    assert name in COUNTED | SAMPLES
    taken = dict(calibration.mechanisms(catalogue.dataset(name).kind))
    assert set(CARDS[name].ratios) <= set(taken)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if card.ratios])
def test_ratios_are_those_measured(name: str) -> None:
    """The trials have a fixed seed: a ratio moves only with the code, and then by more than the digits it is given in."""
    files = original(name, (COUNTED | SAMPLES)[name])
    spec = calibration.matched(name, files.kind, files)
    assert spec is not None
    generated = open_dataset(spec).data
    ours, theirs = (calibration.errors(data, math.log(2), 10) for data in (generated, files))
    measured = {key: round(ours[key].mean / theirs[key].mean, 2) for key in CARDS[name].ratios}
    assert measured == pytest.approx(dict(CARDS[name].ratios), abs=0.011)
