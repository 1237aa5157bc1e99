"""What the heads of the induction model are for: switched off, cut apart, and read as matrices."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from attn_docs._checks import check_axis, check_flag, check_length

if TYPE_CHECKING:
    from attn_docs.heads.multi_head import MultiHeadAttention
    from attn_docs.model.block import Block
    from attn_docs.model.decoder import DecoderModel
    from attn_docs.position.rotary import RotaryEmbedding


@contextmanager
def head_off(model: "DecoderModel", layer: int, head: int = 0) -> Iterator[None]:
    """Switch a head off while the context lasts: it adds nothing to the residual stream.

    Its part of the output projection is zero; what it attends to can still be looked at.

    Args:
        model: A decoder whose blocks hold `MultiHeadAttention`.
        layer: Which block, from 0; -1 is the last.
        head: Which of its heads, from 0.

    Raises:
        ValueError: If there is no such layer or head.

    Example:
        ```python
        from attn_docs.model.induction import decode, encode, load_model
        from attn_docs.model.induction_circuits import head_off

        model, tokens = load_model(), encode("zqvx-zqv")
        with head_off(model, layer=0):
            print(decode(model(tokens)[0, -1:].argmax(-1)) == "x")
        #> False
        ```
    """
    check_axis("layer", layer, len(model.blocks))
    attention = _attention(model, layer)
    check_axis("head", head, attention.num_heads)
    first = head % attention.num_heads * attention.head_dim
    part = slice(first, first + attention.head_dim)
    weight = attention.out_proj.weight
    before = weight.detach().clone()
    with torch.no_grad():
        weight[:, part] = 0
    try:
        yield
    finally:
        with torch.no_grad():
            weight.copy_(before)


@torch.no_grad()
def composed(
    model: "DecoderModel",
    tokens: Tensor,
    *,
    query: bool = True,
    key: bool = True,
    value: bool = True,
) -> tuple[Tensor, Tensor]:
    """Run two layers with parts of the second that do not see what the first one wrote.

    The residual stream after the first layer is the embedding plus that layer's output. Queries,
    keys and values of the second layer are each made from it, or from the embedding alone.

    Args:
        model: A decoder of two blocks, attention alone, with one head.
        tokens: (batch, n).
        query: Whether the second layer's queries see what the first layer wrote.
        key: Whether its keys do.
        value: Whether its values do.

    Returns:
        Logits (batch, n, vocab_size) and the second layer's weights (batch, n, n).

    Raises:
        ValueError: If the model has not two blocks.

    Example:
        ```python
        import torch

        from attn_docs.model.induction import induction_score, load_model, repeated_tokens
        from attn_docs.model.induction_circuits import composed

        tokens = repeated_tokens(8, torch.Generator().manual_seed(1)).tokens
        _, weights = composed(load_model(), tokens, key=False)
        print(induction_score(weights, tokens) < 0.2)
        #> tensor(True)
        ```

    Reference:
        Elhage et al., "A Mathematical Framework for Transformer Circuits" (2021): Q-, K- and
        V-composition.
    """
    for name, flag in (("query", query), ("key", key), ("value", value)):
        check_flag(name, flag)
    first, second = cast("Block", model.blocks[0]), _second(model)
    embedded = model.token_embedding(tokens)  # b n D
    stream = first(embedded, is_causal=True)  # b n D
    attend = cast("MultiHeadAttention", second.attention)

    def read(sees: bool) -> Tensor:
        normed: Tensor = second.attention_norm(stream if sees else embedded)
        return normed

    rotary = cast("RotaryEmbedding", attend.rotary)
    places = torch.arange(tokens.size(1))
    queries = rotary(attend.q_proj(read(query))[:, None], places)  # b 1 n d
    keys = rotary(attend.k_proj(read(key))[:, None], places)  # b 1 n d
    scores = (queries @ keys.mT)[:, 0] / attend.head_dim**0.5  # b n n
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(future, float("-inf")).softmax(-1)
    output = attend.out_proj(weights @ attend.v_proj(read(value)))  # b n D
    return model.output(model.norm(stream + output)), weights


@torch.no_grad()
def match_circuit(model: "DecoderModel", distance: int = 8) -> Tensor:
    r"""Return how well each token as a query of layer 2 fits what layer 1 writes of each token.

    $$\frac{1}{\sqrt{d}} \operatorname{norm}(E)\, W_Q\, R_s\, W_K^\top \operatorname{norm}(T)^\top,
    \qquad T = \operatorname{norm}_1(E)\, W_V^{(1)} W_O^{(1)}$$

    R rotates by the distance s. It is as if the stream of the query held its token alone, and that
    of the key nothing but what layer 1 wrote there.

    Args:
        model: The model of two layers.
        distance: How many places the key stands before the query.

    Returns:
        (vocab_size, vocab_size): a row for each query's token, a column for each token written.

    Raises:
        ValueError: If `distance` is negative, or the model has not two blocks.

    Example:
        ```python
        from attn_docs.model.induction import SYMBOLS, load_model
        from attn_docs.model.induction_circuits import match_circuit

        best = match_circuit(load_model()).argmax(-1)
        print(sum(row == column for row, column in enumerate(best.tolist())), "of", len(SYMBOLS))
        #> 32 of 32
        ```
    """
    check_length("distance", distance)
    attend, second = _attention(model, 1), _second(model)
    written = _written(model, 0)  # V D
    queries = attend.q_proj(second.attention_norm(model.token_embedding.weight))[None, None]
    keys = attend.k_proj(second.attention_norm(written))[None, None]  # 1 1 V d
    rotary = cast("RotaryEmbedding", attend.rotary)
    far = torch.full((len(written),), distance)
    scores: Tensor = rotary(queries, far) @ rotary(keys, 0 * far).mT / attend.head_dim**0.5
    return scores[0, 0]


@torch.no_grad()
def copy_circuit(model: "DecoderModel") -> Tensor:
    r"""Return what attending to each token in layer 2 gives each logit.

    $$\operatorname{norm}\bigl(\operatorname{norm}_2(E)\, W_V^{(2)} W_O^{(2)}\bigr)\, W_U^\top$$

    It is as if the stream held nothing but what layer 2 takes from one token.

    Args:
        model: The model of two layers.

    Returns:
        (vocab_size, vocab_size): a row for each token attended to, a column for each logit.

    Raises:
        ValueError: If the model has not two blocks.

    Example:
        ```python
        from attn_docs.model.induction import SYMBOLS, load_model
        from attn_docs.model.induction_circuits import copy_circuit

        best = copy_circuit(load_model()).argmax(-1)
        print(sum(row == column for row, column in enumerate(best.tolist())), "of", len(SYMBOLS))
        #> 32 of 32
        ```
    """
    _second(model)
    logits: Tensor = model.output(model.norm(_written(model, 1)))
    return logits


def _second(model: "DecoderModel") -> "Block":
    if len(model.blocks) != 2:
        raise ValueError(f"model must have 2 blocks; got {len(model.blocks)}")
    return cast("Block", model.blocks[1])


def _written(model: "DecoderModel", layer: int) -> Tensor:
    """Return what attending to each token alone writes into the stream, (vocab_size, D)."""
    attend, block = _attention(model, layer), cast("Block", model.blocks[layer])
    embedded = block.attention_norm(model.token_embedding.weight)
    written: Tensor = attend.out_proj(attend.v_proj(embedded))
    return written


def _attention(model: "DecoderModel", layer: int) -> "MultiHeadAttention":
    return cast("MultiHeadAttention", cast("Block", model.blocks[layer]).attention)
