"""The citation says the same on its page, in CITATION.cff and in the package."""

import re
import tomllib

import yaml

from tests.conftest import ROOT


def test_citation_is_the_same_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    fields = {"title": "name", "abstract": "description", "version": "version"}
    assert [cited[field] for field in fields] == [project[field] for field in fields.values()]
    wanted = {field: cited[field] for field in ("title", "version")} | {"note": cited["abstract"]}
    wanted["author"] = f"{{{cited['authors'][0]['name']}}}"
    for page in (ROOT / "docs/reference/cite").glob("*.md"):
        lines = re.findall(r"(\w+) += \{(.+)\}", page.read_text(encoding="utf-8"))
        assert dict(lines) == wanted, page
