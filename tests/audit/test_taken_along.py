"""Every notebook prints what its `#>` lines say; the copy for the file system works."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from nbclient import NotebookClient
from playwright.sync_api import expect

from docs._tools import blocks, built
from tests.audit.test_copied_blocks import environment
from tests.conftest import LEFT, Site, build_site
from tests.site.test_html import broken_links
from tests.site.test_takeaway import asked, notebooks

# a page of the copy, what is typed there, and the page that must be the first answer
OFFLINE = [
    ("index.html", "softmax", "foundations/[a-z-]+/index"),
    ("index.html", "causal_mask", "reference/api/foundations/masks"),
    ("zh/foundations/masks/index.html", "掩码", "zh/foundations/masks/index"),
]


@pytest.fixture
def kernel(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the kernel of a reader who has Jupyter, and what pip downloads for the first cell."""
    shown = {block for page in site.pages.values() for block in built.python_blocks(page)}
    besides = {"ipykernel", "pip"}.union(*map(blocks.packages_of, shown))
    python = environment(tmp_path / "reader", besides | asked(site))
    command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = tmp_path / "kernels/reader/kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": command, "display_name": "", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return "reader"


@pytest.mark.filterwarnings("default")  # the kernel's client is not ours
def test_every_notebook_prints_what_it_says(site: Site, kernel: str):
    english = {url: book for url, book in notebooks(site).items() if not url.startswith("zh/")}
    for url, notebook in english.items():  # the Chinese ones have the same blocks
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        notebook.cells = [cell for cell in code if not blocks.skip_reason(cell.source)]
        there = {"metadata": {"path": str(site.pages[url].parent)}}
        NotebookClient(notebook, kernel_name=kernel, resources=there).execute()
        for cell in notebook.cells[1:]:  # pip may say something
            # a library that a block asks for may say what Jupyter lacks: that is no output of ours
            said = [o.text for o in cell.outputs if o.get("name") == "stderr"]
            # or show how far it is, and PyTorch logs why a kernel that was asked for alone cannot
            # run, that it ends processes whose sibling failed, that its profiler starts
            known = ("TqdmWarning", "it/s]", "sdp_utils_cpp", "site-packages/torch/", "USDT:")
            new = [t for t in said if t.strip() and not any(k in t for k in known)]
            assert not new, f"{url}: {new}"
            printed = "".join(o.text for o in cell.outputs if o.get("name") != "stderr")
            assert printed.splitlines() == built.output_lines(cell.source), f"{url}: {cell.source}"


def links_to_folders(site: Site) -> list[str]:
    links = {url: site.tree(url).iterfind(".//a[@href]") for url in site.pages}
    targets = [(url, urlsplit(link.get("href"))) for url in links for link in links[url]]
    return [
        f"{url}: {target.path}"
        for url, target in targets
        if not target.scheme and target.path.endswith(("/", "."))
    ]


def test_the_offline_copy_opens_from_the_file_system(browser, tmp_path):
    copy = build_site(tmp_path, OFFLINE="true")
    assert not broken_links(copy)
    assert not links_to_folders(copy), "a file system lists a folder, and opens no page of it"
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        tab, complaints = context.new_page(), []
        tab.on("requestfailed", lambda r: r.failure != LEFT and complaints.append(r.url))
        tab.on("request", lambda r: r.url.startswith("http") and complaints.append(r.url))
        tab.on("console", lambda message: complaints.append(message.text))
        for page, word, first in OFFLINE:
            tab.goto((tmp_path / page).as_uri())
            tab.locator(".md-search__input").fill(word)
            tab.locator(".md-search__input").press("End")
            tab.locator(".md-search-result__list a").first.click(timeout=30_000)
            expect(tab).to_have_url(re.compile(rf"^file:.*/{first}\.html\?h="))
            tab.wait_for_function("CSS.highlights.get('sought')?.size > 0")
        tab.locator(".md-header .md-select button").hover()
        tab.locator(".md-select a[hreflang=en]").click()
        expect(tab.locator("html")).to_have_attribute("lang", "en")
    with browser.new_context(locale="zh-CN") as context:
        tab = context.new_page()
        tab.goto((tmp_path / "foundations/masks/index.html").as_uri())
        tab.locator(".offer a").click()
        expect(tab).to_have_url((tmp_path / "zh/foundations/masks/index.html").as_uri())
        assert not complaints
