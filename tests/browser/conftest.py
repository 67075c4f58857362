"""A real browser, or a reason why there is none."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium; the tests that want one skip where it, or what drives it, is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-browser")
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("there is no Chromium: install the package chromium")
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []  # which Chromium refuses to be as root
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=alone)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """Open a report without a network: whatever it complains of, or asks for, fails the test."""
    contexts, complaints = [], []

    def open_report(html, **options):
        path = tmp_path / f"report-{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = chromium.new_context(offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda r: None if r.url == path.as_uri() else complaints.append(f"request: {r.url}"))
        page.goto(path.as_uri())
        return page

    yield open_report
    for context in contexts:
        context.close()
    real = [each for each in complaints if not each.startswith("request: data:")]
    assert real == []
