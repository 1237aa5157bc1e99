"""What stands around an attention layer in a model: normalisation, residual stream, MLP."""

from typing import TYPE_CHECKING, cast

from torch import Tensor, nn

from attn_docs._checks import check_flag, check_instance, check_size
from attn_docs.memory.kv_cache import KVCache

if TYPE_CHECKING:
    from attn_docs.heads.multi_head import MultiHeadAttention


class MLP(nn.Module):
    r"""Two linear layers with a GELU between them, applied to each token by itself.

    $$\operatorname{MLP}(x) = W_\text{down}\, \operatorname{GELU}(W_\text{up}\, x + b_\text{up})
    + b_\text{down}$$

    Args:
        embed_dim: Size of the vectors that come in and go out.
        hidden_dim: Size between the two layers; 4·`embed_dim` if None, as in GPT-2.
        bias: Whether both layers add a bias.
        approximate: How the GELU is computed: "none", or "tanh" as in GPT-2.

    Attributes:
        up_proj: Linear layer from `embed_dim` to `hidden_dim`.
        down_proj: Linear layer from `hidden_dim` to `embed_dim`.

    Raises:
        TypeError: If a size is not an int, or `bias` neither True nor False.
        ValueError: If a size is below 1, or `approximate` is neither "none" nor "tanh".

    Example:
        ```python
        import torch

        from attn_docs.model import MLP

        print(tuple(MLP(8)(torch.randn(2, 5, 8)).shape))
        #> (2, 5, 8)
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.3, arXiv:1706.03762 (2017);
        Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415 (2016).
    """

    def __init__(
        self,
        embed_dim: int,
        hidden_dim: int | None = None,
        *,
        bias: bool = True,
        approximate: str = "none",
    ) -> None:
        super().__init__()
        check_size("embed_dim", embed_dim)
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        check_size("hidden_dim", hidden_dim)
        check_flag("bias", bias)
        if approximate not in {"none", "tanh"}:
            raise ValueError(f'approximate must be "none" or "tanh"; got {approximate!r}')
        self.up_proj = nn.Linear(embed_dim, hidden_dim, bias=bias)
        self.act = nn.GELU(approximate)
        self.down_proj = nn.Linear(hidden_dim, embed_dim, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return an array of the shape of `x`, (…, embed_dim)."""
        output: Tensor = self.down_proj(self.act(self.up_proj(x)))
        return output


class GatedMLP(nn.Module):
    r"""An MLP whose hidden elements are multiplied by a gate, SwiGLU: that of Llama.

    $$\operatorname{GatedMLP}(x) = W_\text{down}\, \bigl( \operatorname{SiLU}(W_\text{gate}\, x)
    \odot W_\text{up}\, x \bigr)$$

    Args:
        embed_dim: Size of the vectors that come in and go out.
        hidden_dim: Size between the layers.
        bias: Whether the three layers add a bias.

    Attributes:
        gate_proj: Linear layer from `embed_dim` to `hidden_dim`.
        up_proj: Linear layer from `embed_dim` to `hidden_dim`.
        down_proj: Linear layer from `hidden_dim` to `embed_dim`.

    Raises:
        TypeError: If a size is not an int, or `bias` neither True nor False.
        ValueError: If a size is below 1.

    Example:
        ```python
        import torch

        from attn_docs.model import GatedMLP

        print(tuple(GatedMLP(8, 20)(torch.randn(2, 5, 8)).shape))
        #> (2, 5, 8)
        ```

    Reference:
        Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202 (2020).
    """

    def __init__(self, embed_dim: int, hidden_dim: int, *, bias: bool = False) -> None:
        super().__init__()
        check_size("embed_dim", embed_dim)
        check_size("hidden_dim", hidden_dim)
        check_flag("bias", bias)
        self.gate_proj = nn.Linear(embed_dim, hidden_dim, bias=bias)
        self.up_proj = nn.Linear(embed_dim, hidden_dim, bias=bias)
        self.down_proj = nn.Linear(hidden_dim, embed_dim, bias=bias)
        self.act = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        """Return an array of the shape of `x`, (…, embed_dim)."""
        output: Tensor = self.down_proj(self.act(self.gate_proj(x)) * self.up_proj(x))
        return output


class Block(nn.Module):
    r"""An attention layer and an MLP, each added to the residual stream.

    Normalised before each (`pre_norm`, GPT-2 and after), or after each (2017, BERT):

    $$\text{pre:}\quad x \leftarrow x + \operatorname{Attention}(\operatorname{norm}_1(x)), \quad
    x \leftarrow x + \operatorname{MLP}(\operatorname{norm}_2(x))$$

    $$\text{post:}\quad x \leftarrow \operatorname{norm}_1(x + \operatorname{Attention}(x)), \quad
    x \leftarrow \operatorname{norm}_2(x + \operatorname{MLP}(x))$$

    Args:
        attention: A module called as `MultiHeadAttention` is: any of this package with heads.
        mlp: A module from (…, embed_dim) to the same shape; left out with its norm if None.
        attention_norm: Normalises for the attention, for example `torch.nn.LayerNorm(embed_dim)`
            or `torch.nn.RMSNorm(embed_dim)`.
        mlp_norm: Normalises for the MLP; None without an MLP.
        pre_norm: Whether the norms come before, not after.

    Raises:
        TypeError: If an argument is not a module, or `pre_norm` neither True nor False.
        ValueError: If there is an MLP without a norm or a norm without an MLP.

    Example:
        ```python
        import torch
        from torch import nn

        from attn_docs import MultiHeadAttention
        from attn_docs.model import MLP, Block

        block = Block(MultiHeadAttention(8, 2), MLP(8), nn.LayerNorm(8), nn.LayerNorm(8))
        print(tuple(block(torch.randn(2, 5, 8), is_causal=True).shape))
        #> (2, 5, 8)
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.1, arXiv:1706.03762 (2017);
        Xiong et al., "On Layer Normalization in the Transformer Architecture",
        arXiv:2002.04745 (2020).
    """

    def __init__(
        self,
        attention: nn.Module,
        mlp: nn.Module | None,
        attention_norm: nn.Module,
        mlp_norm: nn.Module | None,
        *,
        pre_norm: bool = True,
    ) -> None:
        super().__init__()
        for name, module in (("attention", attention), ("attention_norm", attention_norm)):
            if not isinstance(module, nn.Module):
                raise TypeError(f"{name} must be a module; got {type(module).__name__}")
        check_instance("mlp", mlp, nn.Module)
        check_instance("mlp_norm", mlp_norm, nn.Module)
        if (mlp is None) != (mlp_norm is None):
            raise ValueError(f"mlp_norm must be None just where mlp is; got {mlp_norm}")
        check_flag("pre_norm", pre_norm)
        self.attention = attention
        self.mlp = mlp
        self.attention_norm = attention_norm
        self.mlp_norm = mlp_norm
        self.pre_norm = pre_norm

    def forward(self, x: Tensor, **options: object) -> Tensor | tuple[Tensor, Tensor]:
        """Let tokens exchange what they need, then compute on each by itself.

        Args:
            x: (batch, length, embed_dim), the residual stream.
            **options: What the attention takes besides: `attn_mask`, `is_causal`, `cache`,
                `positions`, `need_weights`.

        Returns:
            (batch, length, embed_dim); with `need_weights` also the attention's weights.
        """
        attended = self.attention(self.attention_norm(x) if self.pre_norm else x, **options)
        output, *weights = attended if isinstance(attended, tuple) else (attended,)
        x = x + output
        x = x if self.pre_norm else self.attention_norm(x)
        if self.mlp is not None and self.mlp_norm is not None:
            x = x + self.mlp(self.mlp_norm(x) if self.pre_norm else x)
            x = x if self.pre_norm else self.mlp_norm(x)
        return (x, *weights) if weights else x

    def new_cache(self, batch: int, capacity: int) -> KVCache:
        """Return an empty cache for the attention, with room for `capacity` tokens."""
        return cast("MultiHeadAttention", self.attention).new_cache(batch, capacity)
