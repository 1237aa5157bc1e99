"""The sentence that the chapters compute with: five words, each a row of eight named features.

"The cat sleeps. It dreams." On its own, "it" is a pronoun and nothing else: what it means, it can
only take from another word. That is what attention is for, so each chapter follows this row.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

WORDS = ("the", "cat", "sleeps", "it", "dreams")
KINDS = ("determiner", "noun", "verb", "pronoun")
MEANINGS = ("definite", "animal", "asleep", "dreaming")
FEATURES = KINDS + MEANINGS

_IS = {
    "the": ("determiner", "definite"),
    "cat": ("noun", "animal"),
    "sleeps": ("verb", "asleep"),
    "it": ("pronoun",),
    "dreams": ("verb", "dreaming"),
}
_LOOKS_FOR = {
    "determiner": ("noun",),
    "noun": ("verb",),
    "verb": ("noun", "verb"),
    "pronoun": ("noun",),
}


def embeddings() -> Tensor:
    """Return the five words as rows: 1 where a word has the column's feature, else 0.

    Returns:
        Shape (5, 8) = (`WORDS`, `FEATURES`), float32.

    Example:
        ```python
        from attn_docs.sentence import FEATURES, WORDS, embeddings

        x = embeddings()
        print(WORDS[3], [FEATURES[j] for j in x[3].nonzero().flatten()])
        #> it ['pronoun']
        ```
    """
    return torch.tensor([[float(f in _IS[word]) for f in FEATURES] for word in WORDS])


def projections(sharpness: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    r"""Return matrices that make queries, keys and values of the words, as training might.

    A query says which kinds of word are looked for: a determiner and a pronoun look for a noun, a
    noun for a verb, a verb for a noun and a verb. A key says which kind a word is; a pronoun offers
    nothing. A value is what a word means.

    $$q = x W_Q \qquad k = x W_K \qquad v = x W_V$$

    Args:
        sharpness: What $W_Q$ is multiplied by: the larger, the nearer each row of weights comes to
            choosing a single word.

    Returns:
        $W_Q$ and $W_K$ of shape (8, 3), to determiner, noun and verb, and $W_V$ of shape (8, 4), to
        `MEANINGS`; float32.

    Example:
        ```python
        from attn_docs import scaled_dot_product_attention
        from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

        x = embeddings()
        w_q, w_k, w_v = projections(sharpness=6.0)
        output = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)
        print(labelled(output[3:4], WORDS[3:4], MEANINGS))
        #>     definite    animal    asleep  dreaming
        #> it      0.03      0.89      0.03      0.03
        ```
    """
    sought = KINDS[:3]
    w_q = torch.zeros(len(FEATURES), len(sought))
    w_k, w_v = w_q.clone(), torch.zeros(len(FEATURES), len(MEANINGS))
    for row, feature in enumerate(FEATURES):
        for kind in _LOOKS_FOR.get(feature, ()):
            w_q[row, sought.index(kind)] = sharpness
        if feature in sought:
            w_k[row, sought.index(feature)] = 1.0
        if feature in MEANINGS:
            w_v[row, MEANINGS.index(feature)] = 1.0
    return w_q, w_k, w_v


def labelled(numbers: Tensor, rows: Sequence[str], columns: Sequence[str], digits: int = 2) -> str:
    """Return a matrix as text, with the names of its rows and columns.

    Args:
        numbers: Shape (rows, columns).
        rows: A name for each row.
        columns: A name for each column.
        digits: How many follow the point.

    Raises:
        ValueError: If `numbers` is not a matrix with one row and one column for each name.

    Example:
        ```python
        import torch

        from attn_docs.sentence import labelled

        print(labelled(torch.tensor([[0.5, 0.25]]), ["it"], ["the", "cat"]))
        #>      the   cat
        #> it  0.50  0.25
        ```
    """
    if numbers.shape != (len(rows), len(columns)):
        raise ValueError(
            f"numbers must have shape (rows, columns) = ({len(rows)}, {len(columns)}); "
            f"got {tuple(numbers.shape)}"
        )
    cells = [[f"{number:.{digits}f}" for number in row] for row in numbers.tolist()]
    first = max(map(len, rows))
    width = max(map(len, [*columns, *(cell for row in cells for cell in row)])) + 2
    lines = [" " * first + "".join(name.rjust(width) for name in columns)]
    lines += [
        name.ljust(first) + "".join(cell.rjust(width) for cell in row)
        for name, row in zip(rows, cells, strict=True)
    ]
    return "\n".join(lines)
