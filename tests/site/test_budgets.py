"""What the site may cost its readers, and its machinery its maintainers."""

import gzip

from tests.conftest import ROOT, Site

MACHINERY = ["docs/_tools/*.py", "tests/[cd]*.py", "tests/site/*.py", "tests/audit/*.py"]


def test_our_own_scripts_stay_small():
    scripts = (ROOT / "docs/assets/javascripts").rglob("*")
    assert sum(file.stat().st_size for file in scripts) <= 10 * 1024


def test_search_index_stays_small(site: Site):
    index = site.path / "search/search_index.json"
    assert len(gzip.compress(index.read_bytes())) <= 700 * 1024


def test_machinery_stays_small():
    files = [file for pattern in MACHINERY for file in ROOT.glob(pattern)]
    lines = {str(f.relative_to(ROOT)): len(f.read_text("utf-8").splitlines()) for f in files}
    assert sum(lines.values()) <= 2000, lines
