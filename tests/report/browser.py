"""A real browser for pages, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    """The path of Chromium; the test is skipped where it or Playwright is missing."""
    pytest.importorskip("playwright.sync_api", reason="needs a browser: pip install playwright")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("needs a browser: apt install chromium")
    return found


@contextmanager
def opened(path: Any, complaints: list[str], width: int = 1280, **context: Any) -> Iterator[Any]:
    """A page in the browser; what it complains about is added to ``complaints``."""
    browser_path = chromium()  # first, since it skips where Playwright is missing
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=_ARGUMENTS)
        page = browser.new_context(viewport={"width": width, "height": 900}, **context).new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        # Nothing but the file itself.
        page.on(
            "request", lambda r: r.url.startswith(("file:", "data:", "blob:")) or complaints.append(r.url)
        )
        page.goto(f"file://{path}")
        yield page
        browser.close()
