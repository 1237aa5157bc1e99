"""Make docs/assets/fonts/stix-two-math.woff2 from the full font: the characters our formulas use.

npm pack @fontsource/stix-two-math@5.3.0 && tar xzf fontsource-stix-two-math-5.3.0.tgz
python -m docs._tools.font package/files/stix-two-math-latin-400-normal.woff2
"""

import re
import sys

from fontTools.subset import Options, Subsetter, load_font, save_font
from fontTools.ttLib import TTFont

from docs._tools.blocks import ROOT

FOLDER = ROOT / "docs" / "assets" / "fonts"
CHARACTERS = FOLDER / "unicodes.txt"


def characters(text: str) -> set[int]:
    """Return the code points that a list such as `20-7E A0` names; `#` starts a comment."""
    ranges = re.findall(r"\b([0-9A-F]+)(?:-([0-9A-F]+))?\b", re.sub("#.*", "", text))
    return {c for first, last in ranges for c in range(int(first, 16), int(last or first, 16) + 1)}


def narrow_radicals(font: TTFont) -> None:
    """Give every size of the radical sign the width of the smallest.

    A browser lays out a root with the width of the widest radical sign it might need, so that a
    plain √d would be followed by a gap.
    """
    variants = font["MATH"].table.MathVariants
    sign = font.getBestCmap()[ord("√")]
    radical = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(sign)]
    width, _ = font["hmtx"][sign]
    for record in radical.MathGlyphVariantRecord:
        name = record.VariantGlyph
        advance, bearing = font["hmtx"][name]
        glyph = font["glyf"][name]
        glyph.coordinates.scale((width / advance, 1))
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = (width, round(bearing * width / advance))
    radical.GlyphAssembly = None  # set last: reading the table fills it in


def main(full_font: str) -> None:
    """Write the subset."""
    options = Options(layout_features=["*"], hinting=False, desubroutinize=True, flavor="woff2")
    font = load_font(full_font, options)
    narrow_radicals(font)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=characters(CHARACTERS.read_text(encoding="utf-8")))
    subsetter.subset(font)
    save_font(font, str(FOLDER / "stix-two-math.woff2"), options)


if __name__ == "__main__":
    main(sys.argv[1])
