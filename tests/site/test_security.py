"""Each page's policy lets through what the page is made of, and the browser holds it to that."""

import base64
import hashlib
from types import SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError

from docs._tools import built, security
from tests.conftest import Site

PUBLISHED = SimpleNamespace(use_directory_urls=True)
HEAD = f"<!doctype html><head>{security.CHARSET}</head>"
PLANTED = """<script>planted = 1</script><script src="https://example.org/x.js"></script>
<img src="https://example.org/x.png" alt=""><style>#planted { rotate: 9deg !important }</style>
<p id="planted" style="rotate: 9deg" onclick="planted = 1"><a href="javascript:planted = 1">a</a>
"""


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_policy_allows_what_the_page_holds_and_no_more(site: Site):
    for file in [*site.pages.values(), site.path / "404.html"]:
        tree = built.tree(file)
        charset, policy = list(tree.find("head"))[:2]
        assert charset.get("charset") == "utf-8", file
        assert policy.get("http-equiv") == "Content-Security-Policy", file
        rules = dict(rule.split(" ", 1) for rule in policy.get("content").split("; "))
        assert rules["default-src"] == "'none'"
        for tag in ("script", "style"):
            inline = [e for e in tree.iter(tag) if e.text and "json" not in e.get("type", "")]
            assert set(rules[f"{tag}-src"].split()) == {"'self'", *(digest(e.text) for e in inline)}
        others = " ".join(value for name, value in rules.items() if "-src" not in name[-4:])
        assert set(others.split()) <= {"'none'"}, file


@pytest.mark.parametrize(
    "body", ['<p STYLE="top: 0">', "<p onclick=x()>", "<a href=' javascript:0'>"]
)
def test_what_no_policy_allows_fails_the_build(body):
    security.with_policy(f"{HEAD}<p title=\"style='' onclick=''\">style=''</p>", "page/", PUBLISHED)
    with pytest.raises(PluginError, match=r"^page/: the policy forbids "):
        security.with_policy(HEAD + body, "page/", PUBLISHED)


def test_browser_blocks_what_is_planted(visit, site: Site):
    html = site.pages[""].read_text(encoding="utf-8").replace("<h1", f"{PLANTED}<h1", 1)
    tab = visit("").tab
    tab.route("**/path/", lambda route: route.fulfill(body=html, content_type="text/html"))
    page = visit("")
    tab.locator("#planted").click()
    tab.locator("#planted a").click()
    tab.unroute_all()
    assert tab.evaluate("typeof planted") == "object", "the paragraph, set by no script"
    assert tab.evaluate("getComputedStyle(planted).rotate") == "none"
    blocked = [text for text in page.complaints if "Content Security Policy" in text]
    assert len(blocked) == 7, blocked


def test_pages_that_reload_themselves_have_no_policy():
    for command, expected in (("serve", 0), ("build", 1)):
        security.on_startup(command=command, dirty=False)
        assert security.with_policy(HEAD, "page/", PUBLISHED).count("Security-Policy") == expected
