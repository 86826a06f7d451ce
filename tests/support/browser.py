"""A headless Chromium for tests of the report; None with a reason where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


def programs() -> tuple[str, str]:
    """Chromium and its driver, or a skip that says what to install."""
    pytest.importorskip("selenium", reason="selenium drives the browser: pip install selenium")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("there is no headless browser here: apt-get install chromium chromium-driver")
    return browser, driver


def emulate(window: Any, width: int = 1200, height: int = 900, *, dark: bool = False) -> None:
    """Make the screen of that size, and the system's theme that one. For the next page that is opened."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})


@contextmanager
def browse() -> Iterator[Any]:
    """A browser window; its console can be read with `get_log("browser")`."""
    browser, driver = programs()
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = browser
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    window = webdriver.Chrome(options=options, service=Service(driver))
    emulate(window)
    try:
        yield window
    finally:
        window.quit()
