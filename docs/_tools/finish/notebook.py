"""A chapter as a Jupyter notebook, and its blocks as an archive of scripts."""

import io
import json
import zipfile
from collections.abc import Iterable
from posixpath import basename

from docs._tools.finish.twin import Block

# the first cell of a notebook undoes before each cell what one block sets and others print with
ALONE = """
import torch

get_ipython().events.register("pre_run_cell", lambda _: torch.set_printoptions(profile="default"))
"""
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def notebook(pieces: Iterable[str | Block], install: str, brings: str) -> bytes:
    """Return a page's pieces as a notebook: each block a cell, the text between two another.

    `install` is the line that installs what they need, `brings` says what that is.
    """
    first, *rest = pieces
    title, _, text = str(first).partition("\n\n")
    sources = [f"{title}\n\n{brings}", f"{install}\n{ALONE}", text]
    sources += [piece.source if isinstance(piece, Block) else piece for piece in rest]
    cells = []
    for number, source in enumerate(sources):
        cell = {"id": f"cell-{number}", "metadata": {}, "source": source.strip("\n")}
        code = {"cell_type": "code", "execution_count": None, "outputs": []}
        cells.append(cell | (code if number % 2 else {"cell_type": "markdown"}))
    whole = {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1).encode()


def scripts(name: str, blocks: Iterable[Block]) -> bytes:
    """Return blocks as an archive; numbers keep the reading order."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for number, block in enumerate(blocks, start=1):
            entry = zipfile.ZipInfo(f"{name}/{number:02}_{basename(block.title)}")
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, block.source, zipfile.ZIP_DEFLATED)
    return held.getvalue()
