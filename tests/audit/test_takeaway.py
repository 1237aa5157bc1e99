"""Every notebook runs and prints what its `#>` lines say; the copy for the file system works."""

import pytest
from nbclient import NotebookClient
from playwright.sync_api import expect

from docs._tools import built
from docs._tools.blocks import skip_reason
from tests.conftest import ROOT, Site, build_site
from tests.site.test_takeaway import install, notebooks, run_page


@pytest.mark.filterwarnings("default")  # the kernel's client is not ours
def test_every_notebook_runs(site: Site):
    for url, notebook in notebooks(site).items():
        if url.startswith("zh/"):  # the same blocks
            continue
        code = [c for c in notebook.cells if c.cell_type == "code"][1:]  # pip installs elsewhere
        notebook.cells = [cell for cell in code if not skip_reason(cell.source)]
        NotebookClient(notebook, resources={"metadata": {"path": str(ROOT)}}).execute()
        for cell in notebook.cells:
            streams = [o for o in cell.outputs if o.output_type != "execute_result"]
            assert not [o for o in streams if o.name != "stdout"], f"{url}: {cell.source}"
            printed = "".join(output.text for output in streams).splitlines()
            assert printed == built.output_lines(cell.source), f"{url}: {cell.source}"


def test_the_wheel_of_the_site_runs_every_page(site: Site, address, tmp_path):
    (wheel,) = site.path.glob("*.whl")
    python = install(f"pip install {address}{wheel.name}", tmp_path)
    for url, page in site.pages.items():
        blocks = [block for block in built.python_blocks(page) if not skip_reason(block)]
        if blocks and not url.startswith("zh/"):
            expected = [line for block in blocks for line in built.output_lines(block)]
            assert run_page(python, blocks) == expected, url


def test_the_offline_copy_opens_from_the_file_system(browser, tmp_path):
    copy = build_site(tmp_path, OFFLINE="true")
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        tab, complaints = context.new_page(), []
        tab.on("requestfailed", lambda request: complaints.append(request.url))
        tab.on("request", lambda r: r.url.startswith("http") and complaints.append(r.url))
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        for page, word in (("index.html", "softmax"), ("zh/foundations/masks.html", "掩码")):
            tab.goto((tmp_path / page).as_uri())
            for link in tab.locator("a[href]").evaluate_all("links => links.map(a => a.href)"):
                path = link.removeprefix(f"{tmp_path.as_uri()}/").split("#")[0].split("?")[0]
                assert link.startswith("https:") or (tmp_path / path).is_file(), link
            tab.locator(".md-search__input").press_sequentially(word)
            result = tab.locator(".md-search-result__list a").first
            expect(result).to_be_visible()
            result.click()
            expect(tab.locator("article mark, mark").first).to_be_visible()
        tab.locator(".md-header .md-select button").hover()
        tab.locator(".md-select a[hreflang=en]").click()
        expect(tab).to_have_url(copy.path.as_uri() + "/foundations/masks.html")
        assert not complaints
