"""A decoder: from tokens to the logits of the next token, and text from it."""

from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from attn_docs._checks import (
    INT_DTYPES,
    check_callable,
    check_flag,
    check_instance,
    check_key_padding_mask,
    check_length,
    check_number,
    check_size,
)
from attn_docs.memory.kv_cache import KVCache
from attn_docs.model.block import Block


class DecoderModel(nn.Module):
    r"""A decoder-only transformer: embeddings, blocks, a last norm, an unembedding.

    $$x = E[t] + P, \qquad x \leftarrow \operatorname{block}_l(x), \qquad
    \text{logits} = W_U \operatorname{norm}(x)$$

    Each token sees itself and those before it. Positions come in at one of three places: as
    vectors P that are added here (`max_length` or `position_embedding`), as numbers that are added
    to all blocks' scores (`position_bias`), or in the blocks' attention itself (`rotary`). With
    none of them the model knows no more than what the causal mask tells.

    It leaves out what the formula does not need. Weights start as PyTorch draws them: with `tied`,
    draw the embedding smaller before training, as GPT-2 does (a standard deviation of 0.02).
    There is no dropout. Texts padded at their ends need no mask, since no earlier token sees it:
    leave those outputs out of the loss. `generate` knows no padding and no token that ends a text.

    Args:
        vocab_size: Number of different tokens.
        embed_dim: Size of the residual stream.
        blocks: The blocks in order. Their attention has to take `embed_dim`.
        max_length: Number of learned positions, and so the longest sequence; none if None.
        norm: Normalises before the unembedding; nothing does if None.
        tied: Whether the unembedding is the embedding's matrix, as in GPT-2.
        position_embedding: Called with positions, integers (n,) or (batch, n); returns the
            vectors to add, (…, n, embed_dim). An `nn.Embedding` does it, or `sinusoidal` with its
            size given. Not together with `max_length`.
        position_bias: Called as `bias(n, m, offset=before)`; returns what is added to the scores
            of all blocks, (1, heads, n, m), as `RelativeBias` does, or `alibi_bias` with its
            number of heads given.

    Attributes:
        token_embedding: (vocab_size, embed_dim).
        position_embedding: (max_length, embed_dim), or what was given, or None.
        position_bias: What was given, or None.
        blocks: The blocks.
        norm: The last norm.
        output: The unembedding, a linear layer without bias.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1, there is no block, or positions are given twice.

    Example:
        ```python
        import torch
        from torch import nn

        from attn_docs import MultiHeadAttention
        from attn_docs.model import MLP, Block, DecoderModel

        def block():
            return Block(MultiHeadAttention(8, 2), MLP(8), nn.LayerNorm(8), nn.LayerNorm(8))

        model = DecoderModel(50, 8, [block(), block()], max_length=16, norm=nn.LayerNorm(8))
        print(tuple(model(torch.randint(50, (2, 5))).shape))
        #> (2, 5, 50)
        ```

    Reference:
        Radford et al., "Language Models are Unsupervised Multitask Learners" (2019).
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        blocks: Sequence[Block],
        *,
        max_length: int | None = None,
        norm: nn.Module | None = None,
        tied: bool = False,
        position_embedding: Callable[[Tensor], Tensor] | None = None,
        position_bias: Callable[..., Tensor] | None = None,
    ) -> None:
        super().__init__()
        check_size("vocab_size", vocab_size)
        check_size("embed_dim", embed_dim)
        if max_length is not None:
            check_size("max_length", max_length)
        check_instance("norm", norm, nn.Module)
        check_flag("tied", tied)
        given = {"position_embedding": position_embedding, "position_bias": position_bias}
        for name, function in given.items():
            if function is not None:
                check_callable(name, function)
        if max_length is not None and position_embedding is not None:
            raise ValueError(
                f"position_embedding must be None with max_length; got max_length = {max_length}"
            )
        if not blocks:
            raise ValueError(f"blocks must be at least one Block; got {blocks!r}")
        for block in blocks:
            if not isinstance(block, Block):
                raise TypeError(f"blocks must be Blocks; got {type(block).__name__}")
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding: Callable[[Tensor], Tensor] | None = (
            position_embedding if max_length is None else nn.Embedding(max_length, embed_dim)
        )
        self.position_bias = position_bias
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.Identity() if norm is None else norm
        self.output = nn.Linear(embed_dim, vocab_size, bias=False)
        if tied:
            self.output.weight = self.token_embedding.weight

    def forward(
        self,
        tokens: Tensor,
        *,
        caches: Sequence[KVCache] | None = None,
        need_weights: bool = False,
        key_padding_mask: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """Return the logits of the token after each of those given.

        Args:
            tokens: Integers (batch, length), each from 0 up to but not `vocab_size`.
            caches: A cache for each block, as `new_caches` makes them, with the tokens before.
            need_weights: Whether each block's attention weights are returned as well.
            key_padding_mask: Boolean (batch, m), True where a token is not padding; m counts
                those in the caches too. Positions that are added count from each row's first
                token that is not padding, so rows may be padded on the left.

        Returns:
            (batch, length, vocab_size); with `need_weights` also a list with (batch, heads, n, m)
            for each block.

        Raises:
            TypeError: If `tokens` is not a tensor of integers, `caches` holds no caches, or a mask
                is not boolean.
            ValueError: If `tokens` has not two axes, is empty, has a number that is not a token or
                more positions than there are, there is not a cache for each block, or the mask has
                another shape.
        """
        if caches is not None and len(caches) != len(self.blocks):
            many = len(self.blocks)
            raise ValueError(f"caches must be {many}, one for each block; got {len(caches)}")
        before = caches[0].length if caches else 0
        self._check(tokens, before)
        x = self.token_embedding(tokens)  # b n embed_dim
        if self.position_embedding is not None:
            x = x + self.position_embedding(_positions(tokens, before, key_padding_mask))
        options: dict[str, object] = {"is_causal": True, "need_weights": need_weights}
        if self.position_bias is not None:
            n = tokens.size(1)
            options["attn_mask"] = self.position_bias(n, before + n, offset=before)  # 1 h n m
        if key_padding_mask is not None:
            options["key_padding_mask"] = key_padding_mask  # b m
        all_weights = []
        for i, block in enumerate(self.blocks):
            cache = caches[i] if caches else None
            x = block(x, cache=cache, **options)
            if need_weights:
                x, weights = x
                all_weights.append(weights)
        logits: Tensor = self.output(self.norm(x))
        return (logits, all_weights) if need_weights else logits

    def new_caches(self, batch: int, capacity: int) -> list[KVCache]:
        """Return an empty cache for each block, with room for `capacity` tokens."""
        return [cast("Block", block).new_cache(batch, capacity) for block in self.blocks]

    @torch.no_grad()
    def generate(
        self,
        tokens: Tensor,
        new_tokens: int,
        *,
        temperature: float = 0.0,
        top_k: int | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return the tokens and those that the model puts after them, one at a time, with caches.

        Args:
            tokens: Integers (batch, length): the prompt.
            new_tokens: How many to add; none of them ends the text, so cut it afterwards.
            temperature: Divides the logits before a token is drawn; 0 takes the likeliest.
            top_k: How many of the likeliest tokens may be drawn; all if None.
            generator: Draws the tokens; PyTorch's own if None.

        Returns:
            (batch, length + new_tokens).

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If a number is out of range, or there are not so many positions.
        """
        check_length("new_tokens", new_tokens)
        check_number("temperature", temperature)
        if temperature < 0:
            raise ValueError(f"temperature must be 0 or more; got {temperature}")
        if top_k is not None:
            check_size("top_k", top_k)
        self._check(tokens, new_tokens)
        caches = self.new_caches(tokens.size(0), tokens.size(1) + new_tokens)
        new = tokens
        for _ in range(new_tokens):
            logits = self(new, caches=caches)[:, -1]  # b vocab
            new = _draw(logits, temperature, top_k, generator)  # b 1
            tokens = torch.cat([tokens, new], dim=1)
        return tokens

    def _check(self, tokens: Tensor, besides: int) -> None:
        if not isinstance(tokens, Tensor) or tokens.dtype not in INT_DTYPES:
            raise TypeError(f"tokens must be a tensor of integers; got {_kind(tokens)}")
        if tokens.ndim != 2 or not tokens.numel():
            shape = tuple(tokens.shape)
            raise ValueError(f"tokens must be (batch, length), neither of them 0; got {shape}")
        least, most = (int(x) for x in tokens.aminmax())
        if least < 0 or most >= self.output.out_features:
            wrong = least if least < 0 else most
            rule = f"from 0 to {self.output.out_features - 1}"
            raise ValueError(f"tokens must be {rule}, as vocab_size says; got {wrong}")
        length = tokens.size(1) + besides
        if self.max_length is not None and length > self.max_length:
            raise ValueError(f"tokens must be at most {self.max_length} in a row; got {length}")


def _positions(tokens: Tensor, before: int, key_padding_mask: Tensor | None) -> Tensor:
    """Return the positions of tokens after those before: (n,), or (batch, n) if padded."""
    n = tokens.size(1)
    if key_padding_mask is None:
        return torch.arange(before, before + n, device=tokens.device)
    check_key_padding_mask(key_padding_mask, tokens.size(0), before + n, tokens)
    return (key_padding_mask.long().cumsum(-1) - 1).clamp(min=0)[:, before:]  # b n


def _kind(value: object) -> str:
    return str(value.dtype) if isinstance(value, Tensor) else type(value).__name__


def _draw(
    logits: Tensor, temperature: float, top_k: int | None, generator: torch.Generator | None
) -> Tensor:
    """Return a token for each row of logits (batch, vocab): (batch, 1)."""
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    if top_k is not None:
        least = logits.topk(min(top_k, logits.size(-1))).values[:, -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    return torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)
