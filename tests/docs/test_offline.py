"""The documentation works without a network."""

from __future__ import annotations

import pytest
from offline import fetched


@pytest.mark.parametrize(
    "page",
    [
        '<script defer="defer" src="https://example.org/tex.js"></script>',
        '<link\n rel="stylesheet" href="//example.org/site.css">',
        '<img alt="a" src="http://example.org/a.png">',
    ],
)
def test_what_a_page_fetches_is_found(page: str) -> None:
    assert len(fetched(page)) == 1


def test_links_and_own_files_are_allowed() -> None:
    page = """
    <script src="_static/site.js?v=1"></script><link rel="canonical" href="https://example.org/page.html">
    <a href="https://example.org/data">the data</a> <img src="_images/a.png"> <link rel="stylesheet" href="_static/site.css">
    """
    assert fetched(page) == []
