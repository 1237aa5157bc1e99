"""`make chapter` creates a chapter that builds, and that the tests refuse until it is filled in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from docs._tools.blocks import ROOT


def test_the_skeleton_builds_and_is_refused_until_filled_in(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for path in tracked:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, copy / path)
    environment = {key: value for key, value in os.environ.items() if key != "CI"}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603
            [sys.executable, "-m", *command],
            cwd=copy,
            env={**environment, "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    for page in ("position/relative-bias", "foundations/canary"):
        made = run("docs._tools.chapter", page)
        assert made.returncode == 0, made.stderr
        assert run("docs._tools.chapter", page).returncode != 0, "written twice"
    for what in ("figures", "outputs"):
        made = run("docs._tools.generate", what)
        assert made.returncode == 0, made.stdout + made.stderr
    built = run("mkdocs", "build", "--strict", "--quiet")
    assert built.returncode == 0, built.stdout + built.stderr
    for page in ("position/relative-bias", "zh/foundations/canary"):
        html = (copy / "site" / page / "index.html").read_text(encoding="utf-8")
        shown = ('class="glance"', ">core.py <", ">exercise.py <", '<details class="package">')
        assert [part for part in shown if part not in html] == []
    where = ("tests/position", "tests/site/test_census.py", "-k", "todo or agrees")
    tests = run("pytest", "-q", *where)
    assert "test_agrees_with_an_independent_implementation" in tests.stdout
    assert "test_no_todo_is_left" in tests.stdout
    assert "2 failed" in tests.stdout
