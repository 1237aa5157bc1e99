"""Runs blocks one after another, each alone: `blocks.run` starts this file as a program.

It is started as a reader's interpreter would be (`python -I -W error …`, in no project's folder),
imports what is slow to import, and forks for each block. The block finds what it would find in an
interpreter of its own, where only the importing is done already; tests/site/test_alone.py holds
the two against each other. Modules that are named to the program are imported too, where they are
installed: those of a library that the block imports itself.

A line of standard input is a block, as JSON; a line of standard output is what it did: what each
statement printed, by its last line, and the error it ended with.
"""

import ast
import contextlib
import gc
import importlib
import json
import os
import select
import sys
import tempfile
import traceback
import types
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:  # of a copy of the project that is not installed
    sys.path.insert(0, ROOT)

import torch  # noqa: E402
import torch._dynamo  # noqa: E402 - optimizers import it: over a second

import attn_docs  # noqa: E402, F401

TIMEOUT_SECONDS = 120
NAME = "<stdin>"  # what Python calls a program that it is given without a file


def run(source: str) -> tuple[dict[int, list[str]], str]:
    """Run a block; return what each statement printed, and its error or ""."""
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    sys.argv = ["-"]
    torch.seed()  # or else whoever forgets to seed would see the same numbers in every block
    outputs, position = {}, 0
    try:
        with tempfile.TemporaryFile(buffering=0) as standard_output:
            os.dup2(standard_output.fileno(), 1)
            for node in ast.parse(source, NAME).body:
                exec(compile(ast.Module([node], []), NAME, "exec"), main.__dict__)  # noqa: S102
                sys.stdout.flush()
                standard_output.seek(position)
                if printed := standard_output.read():
                    position += len(printed)
                    outputs[node.end_lineno or 0] = printed.decode().splitlines()
    except BaseException as exception:  # noqa: BLE001
        here = [f for f in traceback.extract_tb(exception.__traceback__) if f.filename == NAME]
        line = f"line {here[-1].lineno} of the block: " if here else ""
        return outputs, line + "".join(traceback.format_exception_only(exception)).strip()
    return outputs, ""


def answer(source: str) -> Any:  # noqa: ANN401 - what JSON is
    """Return what a block did in a process of its own."""
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        with open(os.devnull) as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 0)
        os.write(sender, json.dumps(run(source)).encode() + b"\n")
        os._exit(0)
    os.close(sender)
    try:
        with open(receiver) as pipe:  # noqa: PTH123
            if not select.select([pipe], [], [], TIMEOUT_SECONDS)[0]:
                return {}, f"did not end within {TIMEOUT_SECONDS} seconds"
            line = pipe.readline()
            return json.loads(line) if line else ({}, "the process that ran the block died")
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


if __name__ == "__main__":
    replies = os.fdopen(os.dup(1), "w")
    for module in sys.argv[1:]:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.freeze()  # what is there stays there: no child need look through it
    for request in sys.stdin:
        replies.write(json.dumps(answer(json.loads(request))) + "\n")
        replies.flush()
