"""An exhibit as it stands, and its copy with the one wrong line mended."""

import importlib.util
from pathlib import Path
from types import ModuleType

from docs._tools.blocks import ROOT


def load_exhibit(place: str, mend: tuple[str, str], tmp_path: Path, *, mended: bool) -> ModuleType:
    """Import an exhibit such as heads/softmax_over_heads, or its copy with the wrong line mended.

    `mend` is what the marked line holds once, and what should stand there.
    """
    source = (ROOT / "attn_docs" / "exhibits" / f"{place}.py").read_text(encoding="utf-8")
    (marked,) = (line for line in source.splitlines() if "# wrong: " in line)
    wrong, right = mend
    code = marked.partition("  # wrong: ")[0]
    assert code.count(wrong) == 1, place
    path = tmp_path / f"{place.rpartition('/')[2]}_{mended}.py"
    mended_source = source.replace(marked, code.replace(wrong, right))
    path.write_text(mended_source if mended else source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
