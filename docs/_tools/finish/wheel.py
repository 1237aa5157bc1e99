"""The package's wheel, which the site carries so that readers install the code of its pages."""

import hashlib
import tempfile
import tomllib
from functools import lru_cache
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from docs._tools.blocks import ROOT


def package_wheel() -> tuple[str, bytes]:
    """Return the name and the bytes of the wheel; its version tells what code it holds.

    Of a version that is installed already pip installs nothing: a reader would keep older code.
    """
    digest = hashlib.sha256()
    for file in sorted((ROOT / "attn_docs").rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return _built(f".post{int(digest.hexdigest()[:7], 16)}")


@lru_cache(maxsize=1)
def _built(release: str) -> tuple[str, bytes]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project["project"]["version"] += release
    metadata = ProjectMetadata(str(ROOT), PluginManager(), project)
    with tempfile.TemporaryDirectory() as folder:
        builder = WheelBuilder(str(ROOT), metadata=metadata)
        file = Path(next(builder.build(directory=folder, versions=["standard"])))
        return file.name, file.read_bytes()
