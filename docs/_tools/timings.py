"""Measure what a person waits for: `make timings`, on a machine where nothing else runs.

Prints medians of three: the build of the site, a saved sentence seen in the browser, and
`make serve` in a fresh clone. `make timings CHECKOUT=../other` measures another checkout, with the
packages of this one.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

from docs._tools.blocks import ROOT

CHAPTER = "foundations/masks"
SOURCES = (f"docs/{CHAPTER}/index.md", f"docs/{CHAPTER}.md")  # the second until pages had folders
MKDOCS = (sys.executable, "-m", "mkdocs")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LIMIT = 300  # seconds, for anything


@contextmanager
def copy_of(checkout: Path) -> Iterator[Path]:
    """Make a copy of a checkout's files, in which they can be edited, and work there."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)  # noqa: S603
    with tempfile.TemporaryDirectory() as folder:
        for file in filter(None, listed.stdout.split("\0")):
            if (checkout / file).is_file():
                (Path(folder) / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(checkout / file, Path(folder) / file)
        yield Path(folder)


@contextmanager
def running(command: tuple[str, ...], folder: Path, address: str) -> Iterator[float]:
    """Run a server; yield the seconds until it answers."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "NO_MKDOCS_2_WARNING": "1"}
    start = time.perf_counter()
    server = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True)  # noqa: S603
    try:
        while not answers(address):
            if server.poll() is not None or time.perf_counter() - start > LIMIT:
                sys.exit(f"{' '.join(command)}: no answer from {address}")
            time.sleep(0.05)
        yield time.perf_counter() - start
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def answers(address: str) -> bool:
    """Tell whether a page is served."""
    try:
        with urlopen(address, timeout=LIMIT) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (URLError, ConnectionError):
        return False


def free_port() -> int:
    """Return a port that nothing listens at."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def times_of_builds(folder: Path) -> list[float]:
    """Build the site in new processes."""
    command = (*MKDOCS, "build", "--quiet", "--site-dir", str(folder / "site"))
    environment = {**os.environ, "PYTHONPATH": str(folder), "NO_MKDOCS_2_WARNING": "1"}
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(command, cwd=folder, env=environment, check=True)  # noqa: S603
        taken.append(time.perf_counter() - start)
    return taken


def times_until_seen(folder: Path) -> list[float]:
    """Save sentences of a chapter that is served and open in a browser."""
    source = next(folder / path for path in SOURCES if (folder / path).is_file())
    port = free_port()
    address = f"http://127.0.0.1:{port}/"
    command = (*MKDOCS, "serve", "--quiet", "--dev-addr", f"127.0.0.1:{port}")
    taken = []
    with running(command, folder, address), sync_playwright() as playwright:
        browser = next(filter(None, map(shutil.which, BROWSERS)))
        launched = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        tab = launched.new_page()
        tab.goto(f"{address}{CHAPTER}/")
        for number in range(1, 4):
            time.sleep(2)  # the page is idle when its author types
            sentence = f"This is sentence {number} of three."
            text = source.read_text(encoding="utf-8")
            start = time.perf_counter()
            source.write_text(f"{text}\n{sentence}\n", encoding="utf-8")
            tab.get_by_text(sentence).wait_for(timeout=LIMIT * 1000)
            taken.append(time.perf_counter() - start)
        launched.close()
    return taken


def times_of_cold_starts(checkout: Path) -> list[float]:
    """Serve fresh clones, from making the environment to the first page."""
    address, taken = "http://127.0.0.1:8000/", []
    if answers(address):
        sys.exit("port 8000 must be free, where `make serve` serves; something answers there")
    for _ in range(3):
        with copy_of(checkout) as folder, running(("make", "serve"), folder, address) as seconds:
            taken.append(seconds)
    return taken


def main(checkout: Path) -> None:
    """Measure, and print each median beside its budget."""
    with copy_of(checkout) as folder:
        builds = times_of_builds(folder)
        pages = len(list((folder / "site").rglob("index.html")))
        each = median(builds) / pages
        report("build of the site", builds, f"{pages} pages, {each:.3f} s each; budget 0.12 s")
        report("a saved sentence seen", times_until_seen(folder), "budget 3 s")
    report("make serve, cold", times_of_cold_starts(checkout), "budget 35 s")


def report(what: str, taken: list[float], remark: str) -> None:
    """Print a median, and what it is the median of."""
    each = ", ".join(f"{seconds:.1f}" for seconds in sorted(taken))
    print(f"{what:<22} {median(taken):5.1f} s   ({each}; {remark})", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
