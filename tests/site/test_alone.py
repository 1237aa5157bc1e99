"""Blocks run in forked processes: each finds what it would find in a fresh interpreter.

Importing PyTorch takes a hundred times as long as most blocks. So the process that forks has it
imported, and what blocks might see of that is looked at here. `make audit` runs every block in
an interpreter that is really fresh.
"""

import ast
import json
import subprocess
import sys
from functools import cache

import pytest

from docs._tools import blocks, built

STATE = """
import json, os, sys, threading, warnings
state = {
    "names": [name for name in [*globals()] if not name.startswith("__")],
    "modules": sorted(sys.modules),
    "flags": str(sys.flags),
    "path": sys.path,
    "arguments": sys.argv,
    "input": sys.stdin.read(),
    "encodings": [sys.stdin.encoding, sys.stdout.encoding],
    "folder": os.getcwd(),
    "warnings": str(warnings.filters),
    "threads": threading.active_count(),
    "type": str(torch.get_default_dtype()),
    "gradients": torch.is_grad_enabled(),
    "deterministic": torch.are_deterministic_algorithms_enabled(),
}
print(json.dumps(state))
"""


def fresh(block: str) -> str:
    """Run what a reader copies in a new interpreter; return all that it prints."""
    command = [sys.executable, "-I", *blocks.WARNINGS, "-"]
    done = subprocess.run(  # noqa: S603
        command, input=block, capture_output=True, text=True, check=False, cwd="/"
    )
    assert done.returncode == 0, f"{block}\n{done.stderr}"
    return done.stdout


def run_isolated(block: str) -> None:
    """Run a copied block in a new interpreter; compare all it prints with its `#>` lines."""
    assert fresh(block).splitlines() == built.output_lines(block), block


def forked(block: str) -> str:
    """Run a block as the tests run those of pages; return all that it prints."""
    return "\n".join(line for printed in blocks.run(block).values() for line in printed)


# what a block imports first, and then
PROGRAMS = {
    "torch": ("torch", ("torch._dynamo", "attn_docs")),
    "transformers": ("torch, transformers", ("torch._dynamo", "attn_docs", *blocks.IN_ADVANCE)),
}


@cache
def states(program: str) -> tuple[dict, dict, set[str]]:
    """Return what there is in both, and the modules that the process that forks adds to a first."""
    first, others = PROGRAMS[program]
    mark = "import sys\nprint(*sys.modules)\n"
    block = f"import {first}\n{mark}" + "".join(f"import {module}\n" for module in others) + STATE
    (_, there), (alone, here) = (run(block).splitlines() for run in (forked, fresh))
    there, here = json.loads(there), json.loads(here)
    return there, here, {*there["modules"]} - {*alone.split()}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_forked_process_is_like_a_fresh_interpreter(program: str) -> None:
    there, here, _ = states(program)
    assert there == here


def test_numbers_that_nobody_seeded_differ_from_block_to_block() -> None:
    draw = "import random, torch\nprint(random.random(), torch.rand(1).item())\n"
    first, second = (forked(draw + "#" * i).split() for i in range(2))
    assert first[0] != second[0]
    assert first[1] != second[1]


def reached(source: str, modules: set[str]) -> set[str]:
    """Return the modules among those given that a program names without importing them."""
    tree = ast.parse(source)
    names, imported = {}, set()  # a name of the program -> what it stands for
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
            for alias in node.names:
                root = alias.name.partition(".")[0]
                names[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    imported |= {*names.values()}
    dotted = (ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    parts = (name.partition(".") for name in dotted)
    named = {f"{names[root]}.{rest}" for root, _, rest in parts if root in names}
    brought = {m for m in modules if any(f"{name}.".startswith(f"{m}.") for name in imported)}
    return (named & modules) - brought


def test_nothing_is_named_that_only_a_forked_process_has_imported() -> None:
    added = {program: states(program)[2] for program in PROGRAMS}
    assert "torch._dynamo" in added["torch"]
    assert "transformers.modeling_utils" in added["transformers"]
    # with the package comes all of it that it imports itself
    added = {
        program: {module for module in modules if not module.startswith("attn_docs")}
        for program, modules in added.items()
    }
    files = sorted((blocks.ROOT / "attn_docs").rglob("*.py"))
    named = [
        f"{file.relative_to(blocks.ROOT)} names {name} and does not import it"
        for file in files
        for source in (file.read_text(encoding="utf-8"), *blocks.docstring_blocks(file))
        for name in reached(
            source, added["transformers" if blocks.LIBRARY.search(source) else "torch"]
        )
    ]
    assert not named


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import torch\ntorch.a.b.c(1)", {"torch.a", "torch.a.b"}),
        ("import torch.a\ntorch.a.b.c(1)", {"torch.a.b"}),
        ("from torch import a\na.b.c(1)", {"torch.a.b"}),
        ("import torch.a as t\nt.b.c(1)", {"torch.a.b"}),
        ("import torch.a.b\ntorch.a.b.c(1)", set()),
        ("from torch.a import b\nimport torch\ntorch.a.b.c(1)", set()),
        ("torch = 1\ntorch.a.b.c(1)", set()),
    ],
)
def test_what_is_named_without_import_is_seen(source: str, names: set[str]) -> None:
    assert reached(source, {"torch.a", "torch.a.b"}) == names
