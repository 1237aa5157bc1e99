"""`make mutants`: break the taught code in one place at a time, and see that a test notices.

mutmut makes the mutants and finds the tests that run each function. As its pytest plugin, this
file lets a test judge only the mechanism it is named for; as a command, it runs mutmut, holds what
no test noticed against `mutants.toml`, and stores the counts that the site shows.
"""

import gc
import json
import os
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch._dynamo  # noqa: F401 - here once, or else for each mutant
from hypothesis import Phase, settings
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.state import state
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files

settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
settings.load_profile("mutants")  # any failing case will do, it need not be the smallest


def pytest_configure():
    gc.freeze()  # pytest collects garbage ten times as it ends, PyTorch's modules each time


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    place = item.path.relative_to(item.config.rootpath / "tests")
    own = f"attn_docs.{place.parent.name}.{place.stem.removeprefix('test_')}.x"
    if place.parent.name:  # tests/test_checks.py judges every mechanism
        state()._stats -= {f for f in state()._stats if not f.startswith(own) and "._" not in f}


def described(mutant):
    """Return where a mutant is and what it changes."""
    where = mutant.partition("__mutmut_")[0].replace("ǁ", ".").replace(".x.", ".")
    lines = get_diff_for_mutant(mutant).splitlines()[2:]
    change = " ".join(f"{line[0]} {line[1:].strip()}" for line in lines if line[0] in "-+")
    return f"{where.replace('.x_', '.').removeprefix('attn_docs.')}: {change}"


if __name__ == "__main__":
    command = [Path(sys.executable).with_name("mutmut"), "run", *sys.argv[1:]]
    subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True)  # noqa: S603
    codes = {}
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        codes |= data.exit_code_by_key
    noticed = {code for code, s in status_by_exit_code.items() if s in {"killed", "timeout"}}
    alive = {name: described(name) for name, code in codes.items() if code not in noticed}
    listed = tomllib.loads(Path("tests/mutants.toml").read_text(encoding="utf-8"))["equivalent"]
    known = {mutant for reason in listed for mutant in reason["mutants"]}
    if wrong := known ^ set(alive.values()):
        sys.exit("\n".join(f"{'not ' * (m in known)}alive: {m}" for m in sorted(wrong)))
    counts = {"total": len(codes), "killed": len(codes) - len(alive), "equivalent": len(alive)}
    result = json.dumps(counts | {"day": f"{datetime.now(UTC):%F}"}, indent=2) + "\n"
    Path("docs/reference/how-this-site-is-checked/mutants.json").write_text(
        result, encoding="utf-8"
    )
