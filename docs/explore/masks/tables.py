"""The form of the mask explorer, and the settings that the page proposes, in numbers."""

from torch import Tensor

from attn_docs import causal_mask, sliding_window_mask
from docs._kit.form import fill
from docs._kit.markdown import table
from docs._kit.text import texts

EXPLORED = 5  # queries and keys of the causal mask that the explorer starts with
LARGEST = 8
SIZES = {"window": 2, "prefix": 2, "padding": 1}
# what the page proposes: the line that makes the mask, and the mask
STATES: dict[str, tuple[str, Tensor]] = {
    "first": ("torch.ones(5, 5, dtype=torch.bool).tril()", causal_mask(5)),
    "window": (
        "torch.ones(5, 5, dtype=torch.bool).tril().triu()",
        sliding_window_mask(5, window=1),
    ),
    "decode": ("torch.ones(2, 5, dtype=torch.bool).tril(3)", causal_mask(2, 5, offset=3)),
    "empty": ("torch.ones(5, 3, dtype=torch.bool).tril(-2)", causal_mask(5, 3, offset=-2)),
}


def explorer(language: str) -> str:
    """Return the form of the mask explorer with what it shows at first."""
    text = texts(__file__, "explorer", language)
    mask = causal_mask(EXPLORED).int().tolist()
    counts = [sum(row) for row in mask]
    comma, space = text["join"]
    said = text["summary"].format(
        allowed=sum(counts), all=EXPLORED**2, counts=comma.join(map(str, counts))
    )
    shown = {"mask": mask, "said": said, "largest": LARGEST, "sizes": SIZES}
    given = texts(__file__, "given", language)
    return fill(__file__, **text, comma=comma, space=space, given=given, **shown)


def states(language: str) -> str:
    """Return what the settings that the page proposes give."""
    text = texts(__file__, "states", language)
    comma = texts(__file__, "explorer", language)["join"][0]
    rows = (
        (text[name], f"`{line}`", comma.join(map(str, mask.sum(1).tolist())))
        for name, (line, mask) in STATES.items()
    )
    return table(text["header"], rows)


TABLES = {"explorer": explorer, "states": states}
