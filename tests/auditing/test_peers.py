"""Mechanisms of other libraries pass the test of their releases; with too little noise they do not.

False alarms: 1 % each, by construction of the test. The libraries draw from the system's randomness.
"""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.auditing.judge import AuditedVariant, Options, by_test

from support.peers import PEERS, DiffprivlibLaplace, OpenDPLaplace, missing

CASES = [pytest.param(library, peer, id=type(peer).__name__) for library, peers in PEERS.items() for peer in peers]


@pytest.mark.parametrize(("library", "peer"), CASES)
def test_peers_raise_no_alarm(library: str, peer: Any) -> None:
    if reason := missing(library):
        pytest.skip(reason)
    found = by_test(AuditedVariant("peer", peer), Options(pairs=6, seconds=2))
    assert (found.verdict, found.method) == ("inconclusive", "sequential test")
    assert found.pairs > 0
    assert found.reason.startswith("nothing found in ")


@pytest.mark.slow
@pytest.mark.parametrize(("library", "peer"), CASES)
def test_peers_raise_no_alarm_in_a_minute(library: str, peer: Any) -> None:
    if reason := missing(library):
        pytest.skip(reason)
    assert by_test(AuditedVariant("peer", peer), Options(seconds=60)).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("library", "peer"),
    [("diffprivlib", DiffprivlibLaplace(bound=1)), ("opendp", OpenDPLaplace(bound=1))],
    ids=["diffprivlib", "opendp"],
)
def test_a_peer_with_a_wrong_sensitivity_is_found(library: str, peer: Any) -> None:
    """Noise for rows of one column, on pairs whose rows have up to seven."""
    if reason := missing(library):
        pytest.skip(reason)

    class Wrong:
        release = staticmethod(peer.release)

    found = by_test(AuditedVariant("peer", Wrong()), Options(pairs=6, seconds=30))
    assert found.verdict == "violated"
    assert found.loss >= 1
    assert found.pair
    assert found.step
