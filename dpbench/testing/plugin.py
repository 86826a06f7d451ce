"""The pytest plugin, loaded by its entry point: the marker `dpbench`, and the option --dpbench-update of `assert_utility`.

It is loaded by every pytest of an environment with dpbench, so it imports nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpbench.testing.place import BaselinePlace, current


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "write the numbers of dpbench.testing.assert_utility as the new baselines"
    parser.getgroup("dpbench").addoption("--dpbench-update", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    text = "dpbench: measures the privacy or the utility of a mechanism; leave out with -m 'not dpbench'"
    config.addinivalue_line("markers", text)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    file = item.path.parent / "dpbench_baselines" / f"{item.path.stem}.json"
    token = current.set(BaselinePlace(file, item.name, bool(item.config.getoption("--dpbench-update"))))
    try:
        yield
    finally:
        current.reset(token)
