"""What keeps scores in bounds, or lets a head attend to nothing: soft-capping and sinks."""

import torch
from torch import Tensor, nn

from attn_docs._checks import (
    check_float_tensor,
    check_options,
    check_positive,
    check_probability,
    check_query_key,
    check_size,
    check_value,
)
from attn_docs.foundations.scaled_dot_product import (
    _hide_later,
    _masked_softmax,
    _mix,
    _scores,
)
from attn_docs.heads.multi_head import merge_heads, split_heads


class AcrossHeads(nn.Module):
    r"""A norm of queries or keys over all heads at once, to be a module's `q_norm` or `k_norm`.

    $$\operatorname{split}\bigl(\operatorname{norm}(\operatorname{merge}(Q))\bigr)$$

    A module with heads gives its norms (batch, heads, length, head_dim), so that
    `torch.nn.RMSNorm(head_dim)` divides each head by a size of its own, as in Qwen3 and Gemma 3.
    Within `AcrossHeads` a norm sees the heads side by side and divides all of them by one size, as
    in OLMo 2: `AcrossHeads(torch.nn.RMSNorm(num_heads * head_dim))`.

    Args:
        norm: Called with (batch, length, heads·head_dim), returns that shape.

    Attributes:
        norm: The module that was given.

    Raises:
        TypeError: If `norm` is not a module.
        ValueError: When called, if the input does not have 4 axes, or `norm` returns another
            shape.

    Example:
        ```python
        import torch

        from attn_docs import AcrossHeads, GroupedQueryAttention

        q_norm, k_norm = torch.nn.RMSNorm(24), torch.nn.RMSNorm(8)  # 6 and 2 heads of 4
        norms = {"q_norm": AcrossHeads(q_norm), "k_norm": AcrossHeads(k_norm)}
        attend = GroupedQueryAttention(embed_dim=24, num_heads=6, num_kv_heads=2, **norms)
        print(tuple(attend(torch.randn(2, 5, 24)).shape), len(attend.q_norm.norm.weight))
        #> (2, 5, 24) 24
        ```

    Reference:
        OLMo Team, "2 OLMo 2 Furious", arXiv:2501.00656 (2025).
    """

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        if not isinstance(norm, nn.Module):
            raise TypeError(f"norm must be a Module; got {type(norm).__name__}")
        self.norm = norm

    def forward(self, x: Tensor) -> Tensor:
        """Normalise heads (batch, heads, length, head_dim) as if they were one."""
        merged = merge_heads(x)  # b n h·d
        made: Tensor = self.norm(merged)  # b n h·d
        if made.shape != merged.shape:
            raise ValueError(
                f"norm must return the shape that it gets, {tuple(merged.shape)}; "
                f"got {tuple(made.shape)}"
            )
        return split_heads(made, x.size(1))  # b h n d


def softcap_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    softcap: float,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""Attend with scores that a tanh keeps between −c and c.

    $$\operatorname{softmax}\!\left(c \tanh\!\left(\frac{Q K^\top}{c \sqrt{d}}\right) + M\right) V$$

    Scores far below c in size stay as they are. The mask is added after the tanh, which would
    make a finite score of −∞. For a module, fix the cap: `attend=functools.partial(
    softcap_attention, softcap=50.0)`.

    Args:
        query: (…, n, d) or, with heads, (…, h, n, d); float16, bfloat16, float32 or float64.
        key: (…, m, d) or (…, h or 1, m, d); (…, g, m, d) with `enable_gqa`. Same dtype.
        value: (…, m, e) or (…, h or 1, m, e); (…, g, m, e) with `enable_gqa`. Same dtype.
        attn_mask: Boolean, True where a query may attend, or additive, as
            `scaled_dot_product_attention` takes it.
        dropout_p: Probability, from 0 to 1, that a weight is dropped. Always applied.
        is_causal: If True, query i sees keys 0 to i; with `attn_mask`, both hold.
        softcap: The bound c on the size of a score, above 0.
        scale: Factor on the scores before the tanh; 1/√d if None.
        enable_gqa: If True, each of the g key and value heads serves h/g query heads in a row.

    Returns:
        (…, n, e) in the query's dtype; zeros for a query that may attend to nothing.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, or `softcap`, `dropout_p` or `scale` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import softcap_attention

        query, key = torch.tensor([[100.0]]), torch.tensor([[1.0], [0.0]])
        value = torch.tensor([[1.0], [0.0]])
        print(softcap_attention(query, key, value, softcap=1.0))  # a score of 100 counts as 1
        #> tensor([[0.7311]])
        ```

    Reference:
        Gemma Team, "Gemma 2: Improving Open Language Models at a Practical Size", section 2,
        arXiv:2408.00118 (2024); Bello et al., "Neural Combinatorial Optimization with
        Reinforcement Learning", arXiv:1611.09940 (2016).
    """
    shape = check_query_key(query, key, enable_gqa=enable_gqa)
    check_value(value, key, shape, enable_gqa=enable_gqa)
    check_probability("dropout_p", dropout_p)
    check_options(attn_mask, is_causal, scale, shape, query)
    check_positive("softcap", softcap)
    scores = _scores(query, key, scale, enable_gqa)  # … n m
    scores = _hide_later(softcap * torch.tanh(scores / softcap), is_causal)
    weights = _masked_softmax(scores, attn_mask, -1)
    return _mix(weights, value, dropout_p, enable_gqa).to(query.dtype)  # … n e


def sink_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    sinks: Tensor,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""Attend beside a sink: one more score, whose weight carries nothing.

    $$w_j = \frac{\exp(s_j)}{\exp(b_i) + \sum_l \exp(s_l)}$$

    The weights of head i sum to less than one; the rest goes to the sink. No mask hides a sink,
    so a query that may attend to nothing gives zeros.

    Args:
        query: (…, h, n, d); float16, bfloat16, float32 or float64.
        key: (…, h or 1, m, d); (…, g, m, d) with `enable_gqa`. Same dtype.
        value: (…, h or 1, m, e); (…, g, m, e) with `enable_gqa`. Same dtype.
        attn_mask: Boolean, True where a query may attend, or additive, as
            `scaled_dot_product_attention` takes it.
        dropout_p: Probability, from 0 to 1, that a weight is dropped. Always applied.
        is_causal: If True, query i sees keys 0 to i; with `attn_mask`, both hold.
        sinks: (h,), the score bᵢ of each head's sink; float32 or the query's dtype. It is not
            multiplied by `scale`.
        scale: Factor on the other scores; 1/√d if None.
        enable_gqa: If True, each of the g key and value heads serves h/g query heads in a row.

    Returns:
        (…, h, n, e) in the query's dtype.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, or `dropout_p` or `scale` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import sink_attention

        query, key = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 3, 2)  # one head, scores of 0
        value = torch.ones(1, 1, 3, 1)
        print(sink_attention(query, key, value, sinks=torch.zeros(1)).item())  # 3 of 4 shares
        #> 0.75
        ```

    Reference:
        OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card", section 2.2, arXiv:2508.10925 (2025).
    """
    shape = check_query_key(query, key, enable_gqa=enable_gqa)
    check_value(value, key, shape, enable_gqa=enable_gqa)
    check_probability("dropout_p", dropout_p)
    check_options(attn_mask, is_causal, scale, shape, query)
    check_float_tensor("sinks", sinks, min_axes=1)
    heads = query.size(-3) if query.ndim > 2 else None
    if sinks.shape != (heads,):
        raise ValueError(
            f"sinks must have shape (heads,), heads being the query's third-last axis, {heads}; "
            f"got {tuple(sinks.shape)}"
        )
    scores = _hide_later(_scores(query, key, scale, enable_gqa), is_causal)  # … h n m
    sink = sinks.to(scores.dtype).view(-1, 1, 1).expand(*scores.shape[:-1], 1)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, float("-inf"))
        else:
            scores = scores + attn_mask
    weights = torch.softmax(torch.cat((scores, sink), dim=-1), dim=-1)[..., :-1]
    return _mix(weights, value, dropout_p, enable_gqa).to(query.dtype)  # … h n e


class SinkAttention(nn.Module):
    r"""`sink_attention` with a learned sink for each head, to be a module's `attend`.

    Args:
        num_heads: Number of query heads h.

    Attributes:
        sinks: (h,), zeros at first: a sink then counts as one more key with a score of 0.

    Raises:
        TypeError: If `num_heads` is not an int.
        ValueError: If `num_heads` is below 1.

    Example:
        ```python
        import torch

        from attn_docs import MultiHeadAttention, SinkAttention

        attend = MultiHeadAttention(embed_dim=12, num_heads=3, attend=SinkAttention(3))
        output, weights = attend(torch.randn(2, 5, 12), need_weights=True)
        print(bool((weights.sum(-1) < 1).all()), "attend.sinks" in attend.state_dict())
        #> True True
        ```

    Reference:
        OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card", section 2.2, arXiv:2508.10925 (2025).
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        check_size("num_heads", num_heads)
        self.sinks = nn.Parameter(torch.zeros(num_heads))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Attend as `sink_attention` does, beside the learned sinks."""
        return sink_attention(
            query,
            key,
            value,
            attn_mask,
            dropout_p,
            is_causal,
            sinks=self.sinks,
            scale=scale,
            enable_gqa=enable_gqa,
        )

    def extra_repr(self) -> str:
        """Say how many sinks there are."""
        return f"{len(self.sinks)}"
