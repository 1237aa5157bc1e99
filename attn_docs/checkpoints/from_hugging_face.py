"""An attention layer of transformers as this book's module, with its weights."""

from torch import nn

from attn_docs.checkpoints._config import Converter, only_transformers, place
from attn_docs.checkpoints._others import BIASES, OTHERS
from attn_docs.checkpoints._separate import SEPARATE

CONVERTERS: dict[str, Converter] = {**SEPARATE, **OTHERS}


def from_transformers(module: nn.Module, config: object | None = None) -> nn.Module:
    r"""Return this book's module with the weights of an attention layer of transformers.

    $$\operatorname{ours}(x) = \operatorname{theirs}(x)$$

    The class name of the layer says how it is read, its config what else to know: rotary
    positions and their rule, the window of this layer, the scale. What comes back is a
    `MultiHeadAttention`, a `GroupedQueryAttention` or a `MultiHeadLatentAttention`. It has copies
    of the weights, in their dtype, on their device, in the training mode of the layer. Nothing is
    downloaded, and transformers is not imported: load the model yourself and give one
    of its layers.

    The layer must come from transformers 5, whose configs have `rope_parameters`, and be of its
    own class: a fork's class of the same name is refused, because what it changes stands in its
    code alone. An option that our modules do not hold is refused, and so is one whose name sounds
    like attention and that no converter knows. Three things are not seen: the mask that the model
    gives its layer, what was hung on the running layer (a replaced `forward`, a hook, another
    kind of `Linear`), and an option of a later version whose name sounds like nothing known.

    Args:
        module: The attention layer, such as `model.model.layers[0].self_attn`.
        config: The model's config; that which the layer holds if None.

    Returns:
        Our module. It is called with (batch, length, embed_dim); `is_causal=True` where the model
        reads left to right.

    Raises:
        TypeError: If `module` is not a module, or its weights are quantised.
        ValueError: If its class is not known or not transformers' own, or one of its options is
            not held; the message names the option and its value.

    Example:
        ```python
        from torch import nn

        from attn_docs import from_transformers

        try:
            from_transformers(nn.MultiheadAttention(8, 2), config={})
        except ValueError as error:
            print(str(error)[-24:])
        #> ; got MultiheadAttention
        ```

    Reference:
        Wolf et al., "Transformers: State-of-the-Art Natural Language Processing",
        arXiv:1910.03771 (2020).
    """
    only_transformers(module, CONVERTERS)
    config = getattr(module, "config", None) if config is None else config
    return place(CONVERTERS[type(module).__name__](module, config), module)


def position_bias_from_transformers(module: nn.Module) -> nn.Module:
    r"""Return the numbers that a layer of transformers adds to its scores for the distances.

    $$S_{h,i,j} = q_i k_j^\top \cdot \text{scale} + B_{h,\,i - j}$$

    Layers of T5 and of the ALiBi families know no positions by themselves: what tells them is
    added to the scores. The result is called as `RelativeBias` is, `bias(n, m, offset=before)`,
    and what it returns is given to the converted layer as `attn_mask`, or the callable itself to
    `DecoderModel` as `position_bias`.

    T5's first layer holds the table for all layers of its stack; mT5 is T5, and in umT5 each layer
    has its own. ALiBi has no parameters. BLOOM and MPT take the authors' slopes. Falcon computes
    slope times position in bfloat16, and divides it by √head_dim as it does the scores; so with
    padding on the left, where it counts from the first token, it rounds other numbers.

    Args:
        module: `T5Attention`, `MT5Attention` or `UMT5Attention` with `relative_attention_bias`;
            `FalconAttention` whose config has `alibi=True`; `BloomAttention` or `MptAttention`.

    Returns:
        A `RelativeBias` with a copy of the table, or a module without parameters; either returns
        (1, num_heads, n, m). ALiBi's is float32, T5's has the dtype of the table.

    Raises:
        TypeError: If `module` is not a module.
        ValueError: If the layer is of another class, or of a fork's, or has no bias of its own:
            T5's later layers, Falcon with rotary positions.

    Example:
        ```python
        # pip install transformers
        from transformers import T5Config
        from transformers.models.t5.modeling_t5 import T5Attention

        from attn_docs import position_bias_from_transformers

        config = T5Config(d_model=24, d_kv=6, num_heads=4)
        layer = T5Attention(config, has_relative_attention_bias=True)
        bias = position_bias_from_transformers(layer)
        print(tuple(bias(5).shape), bias.bidirectional)
        #> (1, 4, 5, 5) True
        ```

    Reference:
        Raffel et al., section 2.1, arXiv:1910.10683 (2019); Press et al., section 3,
        arXiv:2108.12409 (2021).
    """
    only_transformers(module, BIASES)
    return BIASES[type(module).__name__](module)
