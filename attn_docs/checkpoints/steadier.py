"""What keeps scores in bounds, or lets a head attend to nothing, stage by stage."""

import torch
from torch import Tensor, nn

from attn_docs._checks import (
    check_call,
    check_float_tensor,
    check_number,
    check_positive,
    check_size,
)
from attn_docs.foundations.scaled_dot_product import (
    _hide,
    _hide_later,
    _masked_softmax,
    _mix,
    _scores,
    scaled_dot_product_attention,
)
from attn_docs.heads._options import normed
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
        made = normed(self.norm, merge_heads(x))  # b n h·d
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
    check_call(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
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
        sinks: (h,), the score bᵢ of each head's sink, not multiplied by `scale`; of −∞, a head has
            none.
        scale: Factor on the other scores; 1/√d if None.
        enable_gqa: If True, each of the g key and value heads serves h/g query heads in a row.

    Returns:
        (…, h, n, e) in the query's dtype.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, there is no head axis, or `dropout_p` or `scale` is out of
            range.

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
    check_call(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    check_float_tensor("sinks", sinks, min_axes=1)
    heads = _heads("query", query)
    if sinks.shape != (heads,):
        raise ValueError(f"sinks must have shape (heads,) = ({heads},); got {tuple(sinks.shape)}")
    scores = _hide_later(_scores(query, key, scale, enable_gqa), is_causal)  # … h n m
    sink = sinks.to(scores.dtype).view(-1, 1, 1).expand(*scores.shape[:-1], 1)
    scores = _hide(scores, attn_mask)
    # a sink of −∞ beside hidden keys leaves nothing to divide by, hence the masked softmax
    weights = _masked_softmax(torch.cat((scores, sink), dim=-1), None, -1)[..., :-1]
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


def differential_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    lam: float | Tensor,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""Attend twice and subtract: what both halves of the heads look at cancels.

    $$\left(\operatorname{softmax}\!\left(\frac{Q_1 K_1^\top}{\sqrt{d}} + M\right) - \lambda
    \operatorname{softmax}\!\left(\frac{Q_2 K_2^\top}{\sqrt{d}} + M\right)\right) V$$

    The first half of the query heads and of the key heads makes the first weights, the second half
    the second ones. Each row of their difference sums to 1 − λ, and single weights may be below 0.

    Args:
        query: (…, 2h, n, d); float16, bfloat16, float32 or float64.
        key: (…, 2h, m, d); (…, 2g, m, d) with `enable_gqa`. Same dtype.
        value: (…, h, m, e); (…, g, m, e) with `enable_gqa`: one for each pair. Same dtype.
        attn_mask: Boolean, True where a query may attend, or additive, as
            `scaled_dot_product_attention` takes it; an axis of heads counts all 2h.
        dropout_p: Probability, from 0 to 1, that a weight is dropped, in each half by itself.
            Always applied.
        is_causal: If True, query i sees keys 0 to i; with `attn_mask`, both hold.
        lam: λ, what the second weights are multiplied by: a number, or a tensor that fits
            (…, h, n, e). With 0, the second half of the heads is not looked at.
        scale: Factor on the scores; 1/√d if None.
        enable_gqa: If True, each of the g key and value heads serves h/g query heads in a row.

    Returns:
        (…, h, n, e) in the query's dtype; zeros for a query that may attend to nothing.

    Raises:
        TypeError: If an argument has the wrong type or dtype.
        ValueError: If shapes do not fit, a number of heads is odd, or `lam`, `dropout_p` or `scale`
            is out of range.

    Example:
        ```python
        import torch

        from attn_docs import differential_attention

        query, key = torch.zeros(1, 2, 1, 4), torch.zeros(1, 2, 3, 4)  # both look everywhere
        value = torch.randn(1, 1, 3, 5)
        print(differential_attention(query, key, value, lam=1.0))
        #> tensor([[[[0., 0., 0., 0., 0.]]]])
        ```

    Reference:
        Ye et al., "Differential Transformer", section 2.1, arXiv:2410.05258 (2024).
    """
    for name, tensor in (("query", query), ("key", key)):
        check_float_tensor(name, tensor, min_axes=3)
        _check_pairs(name, tensor)
    if not isinstance(lam, Tensor):
        check_number("lam", lam)
    masks: tuple[Tensor | None, ...] = (attn_mask, attn_mask)
    if isinstance(attn_mask, Tensor) and attn_mask.ndim > 2 and attn_mask.size(-3) > 1:
        if attn_mask.size(-3) != query.size(-3):
            raise ValueError(
                f"attn_mask must have 1 or {query.size(-3)} heads; got {attn_mask.size(-3)}"
            )
        masks = attn_mask.chunk(2, dim=-3)
    first, second = (
        scaled_dot_product_attention(
            q, k, value, mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
        for q, k, mask in zip(query.chunk(2, -3), key.chunk(2, -3), masks, strict=True)
    )  # each … h n e
    return (first - lam * second).to(query.dtype)  # … h n e


class DifferentialAttention(nn.Module):
    r"""`differential_attention` with a learned λ and a norm, to be a module's `attend`.

    $$(1 - \lambda_0) \operatorname{norm}\bigl(\operatorname{head}_1 - \lambda
    \operatorname{head}_2\bigr) \qquad \lambda = e^{q_1 \cdot k_1} - e^{q_2 \cdot k_2} +
    \lambda_0$$

    Head i and head i + h/2 of the module make a pair, and the values of their KV heads stand side
    by side: a pair's output is twice as wide as a head. λ is one number for all pairs. The norm
    undoes what the subtraction does to the size, and has no parameters, as in DiffLlama; the
    paper's own code has a gain there.

    Args:
        head_dim: Size d of a head of the module.
        lambda_init: λ₀, above 0 and below 1. The paper takes 0.8 − 0.6·exp(−0.3·l) in layer l,
            from 0.
        eps: Added to the mean square within the norm.

    Attributes:
        lambda_q1: (head_dim,), with `lambda_k1` the exponent that raises λ.
        lambda_k1: (head_dim,).
        lambda_q2: (head_dim,), with `lambda_k2` the one that lowers it.
        lambda_k2: (head_dim,).

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an argument is out of range, or, when called, `value` does not have
            `head_dim` as its last size, as with `need_weights=True`, or heads are odd in number.

    Example:
        ```python
        import torch

        from attn_docs import DifferentialAttention, MultiHeadAttention

        attend = MultiHeadAttention(24, num_heads=4, attend=DifferentialAttention(head_dim=6))
        print(tuple(attend(torch.randn(2, 5, 24), is_causal=True).shape))
        #> (2, 5, 24)
        ```

    Reference:
        Ye et al., "Differential Transformer", section 2.1, arXiv:2410.05258 (2024).
    """

    def __init__(self, head_dim: int, lambda_init: float = 0.8, *, eps: float = 1e-5) -> None:
        super().__init__()
        check_size("head_dim", head_dim)
        check_number("lambda_init", lambda_init)
        if not 0 < lambda_init < 1:
            raise ValueError(f"lambda_init must be above 0 and below 1; got {lambda_init!r}")
        check_positive("eps", eps)
        self.head_dim = head_dim
        self.lambda_init = lambda_init
        self.lambda_q1 = nn.Parameter(0.1 * torch.randn(head_dim))
        self.lambda_k1 = nn.Parameter(0.1 * torch.randn(head_dim))
        self.lambda_q2 = nn.Parameter(0.1 * torch.randn(head_dim))
        self.lambda_k2 = nn.Parameter(0.1 * torch.randn(head_dim))
        self.norm = nn.RMSNorm(2 * head_dim, eps, elementwise_affine=False)

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
        """Attend in pairs: (batch, h, n, head_dim) makes (batch, h/2, n, 2·head_dim)."""
        check_float_tensor("value", value, min_axes=3)
        _check_pairs("value", value)
        # need_weights gives the rows of one identity for all heads as values
        if value.size(-1) != self.head_dim or value.stride(-3) == 0:
            raise ValueError(
                f"value must have head_dim {self.head_dim} as its last size, and need_weights must "
                f"be False: a norm stands behind the weights; got shape {tuple(value.shape)}"
            )
        value = torch.cat(value.chunk(2, dim=-3), dim=-1)  # b g/2 m 2d
        heads = differential_attention(
            query,
            key,
            value,
            attn_mask,
            dropout_p,
            is_causal,
            lam=self.lam,
            scale=scale,
            enable_gqa=enable_gqa,
        )  # b h/2 n 2d
        made: Tensor = self.norm(heads)
        return (1 - self.lambda_init) * made

    @property
    def lam(self) -> Tensor:
        """λ as it stands, a tensor without axes."""
        up, down = self.lambda_q1 @ self.lambda_k1, self.lambda_q2 @ self.lambda_k2
        return up.exp() - down.exp() + self.lambda_init

    def extra_repr(self) -> str:
        """Say the size of a head and where λ starts."""
        return f"{self.head_dim}, lambda_init={self.lambda_init}"


def _heads(name: str, tensor: Tensor) -> int:
    if tensor.ndim < 3:
        raise ValueError(
            f"{name} must have an axis of heads before its last two; got {tensor.ndim} axes"
        )
    return tensor.size(-3)


def _check_pairs(name: str, tensor: Tensor) -> None:
    heads = _heads(name, tensor)
    if heads % 2:
        raise ValueError(f"{name} must have an even number of heads; got {heads}")
