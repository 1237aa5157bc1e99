"""The built site and a browser to look at it with, shared by tests/site and tests/audit.

`site.pages` maps addresses ("", "foundations/masks/", "zh/…") to files, `site.tree(address)` gives
a parsed page, tags without namespaces. `visit` opens a page of the served site in the browser.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO
from urllib.parse import urljoin
from xml.etree.ElementTree import Element

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Page, ViewportSize
from xdist.scheduler import LoadFileScheduling

from docs._tools import built

ROOT = Path(__file__).parents[1]
SUB_PATH = "/some/sub/path/"  # the site must work wherever it is put
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
LEFT = "net::ERR_ABORTED"  # how a request ends whose page is left before it is answered
NO_BROWSER = "BROWSER CHECKS DID NOT RUN"


class Site:
    """A built site. Its pages are those with content: not one that only leads to a new address."""

    def __init__(self, path: Path) -> None:
        self.path = path
        files = {file.relative_to(path).as_posix(): file for file in sorted(path.rglob("*.html"))}
        del files["404.html"]  # served at any address, and none of its own
        there = {k: f for k, f in files.items() if b'<a id="redirect"' not in f.read_bytes()}
        self.pages = {name.removesuffix("index.html"): file for name, file in there.items()}

    def tree(self, url: str) -> Element:
        """Return the parsed page at an address."""
        return built.tree(self.pages[url])

    def loading(self, script: str) -> list[str]:
        """Return the pages that load a script of the site."""
        sources = {
            url: re.findall(r'<script[^>]* src="([^"]+)"', file.read_text(encoding="utf-8"))
            for url, file in self.pages.items()
        }
        return sorted(u for u, found in sources.items() if script in (urljoin(u, s) for s in found))


MKDOCS = ("mkdocs", "build", "--strict", "-d")


def build_site(path: Path, engine: Sequence[str] = MKDOCS, **settings: str) -> Site:
    """Build the site as readers build it; a failure shows what the builder said."""
    unset = {"SITE_URL": "", "REPO_URL": "", "SOURCE_DATE_EPOCH": "1750000000"}
    environment = {**os.environ, **unset, "NO_MKDOCS_2_WARNING": "1", **settings}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", *engine, str(path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"{engine[0]} failed:\n{done.stdout}\n{done.stderr}", pytrace=False)
    return Site(path)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Site:
    """Build the site once for all processes of this run: the first to need it builds it."""
    base = tmp_path_factory.getbasetemp()
    path = (base if worker_id == "master" else base.parent) / "site"
    with FileLock(f"{path}.lock"):
        return Site(path) if path.is_dir() else build_site(path)


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder below SUB_PATH, and nothing beside it, piece by piece as a network does."""

    protocol_version = "HTTP/1.1"  # one connection for many requests

    def translate_path(self, path: str) -> str:
        below = path.startswith(SUB_PATH)
        return super().translate_path(path.removeprefix(SUB_PATH[:-1]) if below else "/outside")

    def copyfile(self, source: BinaryIO, outputfile: BinaryIO) -> None:
        while piece := source.read(8192):
            outputfile.write(piece)
            time.sleep(0.002)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def address(site: Site) -> Iterator[str]:
    """Where the built site is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=site.path)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}{SUB_PATH}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, object]) -> dict[str, object]:
    """Start the browser of the system; a test that has none to look with must not seem to pass."""
    names = ["chromium", "chromium-browser", "google-chrome", "chrome"]
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        message = f"{NO_BROWSER}: chromium not found (looked for {', '.join(names)})"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    return {**browser_type_launch_args, "executable_path": chromium, "args": ARGUMENTS}


# what parses every page, once for all of them
PARSING = re.compile(
    "tests/(reference/|site/test_(census|finding|formulas|furniture|html|languages|takeaway))"
)

# what makes figures and tables, whose programs and models have run once in this process
MAKING = re.compile(r"tests/(site/test_generated|\w+/test_\w+_figures)\.py")


class Scheduler(LoadFileScheduling):
    """Gives to one process what has most in common.

    That is a page and its translation, the files that parse every page, and those that make what
    pages show.
    """

    def _split_scope(self, nodeid: str) -> str:
        for group in (PARSING, MAKING):
            if group.match(nodeid):
                return group.pattern
        return str(super()._split_scope(nodeid)).replace(".zh.md", ".md")


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduler | None:
    return Scheduler(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that two processes end together."""
    first = ["tests/site/test_browser", "docs/", "attn_docs/", "tests/site/", "tests/testing/"]
    items.sort(key=lambda item: [not item.nodeid.startswith(start) for start in first])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = {str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])}
    for reason in sorted(reason for reason in reasons if NO_BROWSER in reason):
        terminalreporter.write_line(reason, red=True, bold=True)


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def visit(tab: Page, address: str) -> Callable[..., SimpleNamespace]:
    """Open a page; return what it requested, and what it or the browser complained about."""
    seen = SimpleNamespace(requests=[], complaints=[])
    tab.on("request", lambda request: seen.requests.append(request.url))
    tab.on("requestfailed", lambda r: r.failure != LEFT and seen.complaints.append(r.url))
    tab.on("pageerror", lambda error: seen.complaints.append(f"error: {error}"))
    tab.on("console", lambda m: m.type in {"error", "warning"} and seen.complaints.append(m.text))

    def open_page(url: str, width: int = 360, scheme: str = "light") -> SimpleNamespace:
        seen.requests, seen.complaints = [], []
        tab.set_viewport_size(ViewportSize(width=width, height=800))
        tab.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        tab.goto(address + url)
        return SimpleNamespace(tab=tab, requests=seen.requests, complaints=seen.complaints)

    return open_page
