"""Every block, as copied from the built site, runs in a fresh interpreter."""

import json
import shlex
import subprocess
import sys
import sysconfig
import venv
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import files, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from docs._tools import blocks, built
from docs._tools.blocks import WARNINGS
from tests.conftest import ROOT, Site
from tests.site.test_alone import run_isolated
from tests.site.test_takeaway import CHAPTER, asked

# a process each, forked after PyTorch was imported
APART = (
    "import os\nif os.fork():\n    assert os.wait()[1] == 0, {0!r}\n"
    "else:\n    exec({0!r})\n    os._exit(0)"
)

# a block's names are the main module's, where PyTorch's compiler looks for them
RUNNER = """
import json, sys, types
for block in json.load(sys.stdin):
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(block, vars(main))
"""


def run(python: Path, blocks: list[str]) -> list[str]:
    """Run blocks in one interpreter, each with names of its own; return what they print."""
    command, given = [python, "-I", *WARNINGS, "-c", RUNNER], json.dumps(blocks)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def needed(packages: set[str]) -> set[str]:
    """Return packages and all that they need here, by the names they are installed under."""
    found, new = set(), packages
    while new:
        found |= new
        wanted = (Requirement(line) for name in new for line in requires(name) or [])
        new = {r.name for r in wanted if r.marker is None or r.marker.evaluate()} - found
    return found


def environment(folder: Path, packages: set[str]) -> Path:
    """Make an environment of packages and what they need, as it is here; return its Python."""
    venv.create(folder, symlinks=True)
    (place,) = folder.glob("lib/*/site-packages")
    for package in needed(packages):
        for top in {file.parts[0] for file in files(package) or []} - {"..", "__pycache__"}:
            if not (place / top).exists():
                (place / top).symlink_to(Path(sysconfig.get_path("purelib")) / top)
    return folder / "bin/python"


@pytest.fixture(scope="module")
def reader(site: Site, visit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a reader who has run the line of the page, and nothing else."""
    tab = visit(CHAPTER).tab
    tab.locator(".install button").click()
    line = tab.evaluate("navigator.clipboard.readText()")
    # what pip would download for the line is there already
    python = environment(tmp_path_factory.mktemp("reader"), asked(site))
    pip = [sys.executable, "-m", "pip", "--python", python, *shlex.split(line)[1:]]
    subprocess.run([*pip, "--no-index", "--no-compile"], check=True, capture_output=True)  # noqa: S603
    return python


def runnable(site: Site) -> list[str]:
    """Return the blocks of all pages that do not say that they cannot run here."""
    shown = {block for page in site.pages.values() for block in built.python_blocks(page)}
    return [block for block in sorted(shown) if not blocks.skip_reason(block)]


def test_the_line_on_the_page_installs_the_code_of_the_page(site: Site, reader: Path):
    (place,) = run(reader, ["import attn_docs; print(attn_docs.__path__[0])"])
    installed = {file for file in Path(place).rglob("*.*") if file.suffix != ".pyc"}
    ours = {file for file in (ROOT / "attn_docs").rglob("*.*") if file.suffix != ".pyc"}
    names = {file.relative_to(ROOT / "attn_docs") for file in ours}
    assert {file.relative_to(place) for file in installed} == names
    for name in names:
        assert (Path(place) / name).read_bytes() == (ROOT / "attn_docs" / name).read_bytes()
    blocks_of_page = built.python_blocks(site.pages[CHAPTER])
    shown = [block for block in blocks_of_page if not blocks.packages_of(block)]
    assert run(reader, shown) == [line for block in shown for line in built.output_lines(block)]


def test_every_module_of_the_library_imports_with_what_the_line_installs(reader: Path):
    with pytest.raises(AssertionError, match="No module named 'drawsvg'"):
        run(reader, ["import drawsvg"])
    scripts = {ROOT / "attn_docs" / folder for folder in ("examples", "exhibits")}
    sources = [p for p in (ROOT / "attn_docs").rglob("*.py") if not scripts & {*p.parents}]
    places = sorted(path.relative_to(ROOT).with_suffix("") for path in sources)
    run(reader, [f"import {'.'.join(place.parts)}" for place in places])


@pytest.mark.complete
def test_every_copied_block_runs_in_a_fresh_interpreter(site: Site) -> None:
    with ThreadPoolExecutor(2) as pool:  # the work is done by the interpreters it starts
        list(pool.map(run_isolated, runnable(site)))


def test_every_copied_block_runs_in_what_the_line_on_the_page_makes(
    site: Site, reader: Path
) -> None:
    alone = [block for block in runnable(site) if not blocks.packages_of(block)]
    run(reader, ["import torch", *(APART.format(block) for block in alone)])


def test_a_block_that_asks_for_more_runs_with_what_its_first_line_installs(
    site: Site, tmp_path: Path
) -> None:
    more = [block for block in runnable(site) if blocks.packages_of(block)]
    assert more
    python = environment(tmp_path, asked(site).union(*map(blocks.packages_of, more)))
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index"]
    subprocess.run([*pip, *site.path.glob("*.whl")], check=True, capture_output=True)  # noqa: S603
    run(python, ["import torch", *(APART.format(block) for block in more)])
