"""Which calls of transformers keep packed documents apart, found out by running them."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel
from transformers import modeling_flash_attention_utils as flash

from attn_docs import causal_mask, document_ids, document_mask, packed_attention

IMPLEMENTATIONS = ("eager", "sdpa", "flash_attention_2")
FIRST, TOKENS, VOCABULARY = 4, 9, 50
POSITIONS = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])
TWO_ROWS = POSITIONS.repeat(2, 1)
OWN = (document_mask(document_ids([4, 5])) & causal_mask(TOKENS))[None, None]  # 1 1 n n
ADDED = torch.zeros(1, 1, TOKENS, TOKENS, dtype=torch.float64).masked_fill(~OWN, -torch.inf)


def boundaries(starts: list[int]) -> dict[str, Any]:
    """Return what transformers passes to a variable-length call, stated and not guessed."""
    c = torch.tensor(starts, dtype=torch.int32)
    return {"cu_seq_lens_q": c, "cu_seq_lens_k": c, "max_length_q": 5, "max_length_k": 5}


CALLS: dict[str, dict[str, Any]] = {
    "no_cache": {"position_ids": POSITIONS, "use_cache": False},
    "default": {"position_ids": POSITIONS},
    "checkpointed": {"position_ids": POSITIONS},
    "ones": {
        "position_ids": POSITIONS,
        "use_cache": False,
        "attention_mask": torch.ones_like(POSITIONS),
    },
    "rows": {"position_ids": TWO_ROWS, "use_cache": False},
    "stated": {"position_ids": TWO_ROWS} | boundaries([0, 4, 9, 13, 18]),
    "boolean": {"attention_mask": OWN},
    "added": {"attention_mask": ADDED},
    "nothing": {"use_cache": False},
}
CHECKPOINTED = ("checkpointed",)  # trained with gradient checkpointing, the others in `eval()`


def flash_attn_func(
    q: Tensor, k: Tensor, v: Tensor, softmax_scale: float, causal: bool, dropout_p: float = 0.0
) -> Tensor:
    """Compute what FlashAttention's function of this name does; (b, n, h, d)."""
    rows = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(
        *rows, dropout_p=dropout_p, is_causal=causal, scale=softmax_scale, enable_gqa=True
    ).transpose(1, 2)


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,  # noqa: ARG001
    max_seqlen_q: int,  # noqa: ARG001 - their signature
    max_seqlen_k: int,  # noqa: ARG001
    softmax_scale: float,
    causal: bool,
    dropout_p: float = 0.0,  # noqa: ARG001 - the model has none
) -> Tensor:
    """Compute what FlashAttention's function of this name does, document by document."""
    rows = (x.transpose(0, 1) for x in (q, k, v))
    return packed_attention(
        *rows, cu_seqlens_q.diff(), is_causal=causal, scale=softmax_scale, enable_gqa=True
    ).transpose(0, 1)


@contextmanager
def flash_attention_on_cpu() -> Iterator[None]:
    """Let transformers call the two functions above instead of FlashAttention's."""
    functions = (flash_attn_func, flash_attn_varlen_func, None, None, None)
    process = flash._lazy_define_process_function(flash_attn_varlen_func)  # noqa: SLF001
    loaded = (functions, (process, dict))
    with patch.object(flash, "lazy_import_flash_attention", lambda *_, **__: loaded):
        yield


def tiny_model() -> PreTrainedModel:
    """Return a Llama of two layers with random weights, in float64."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    return cast("PreTrainedModel", LlamaForCausalLM(config).double().eval())


@torch.no_grad()
def changes(implementation: str, call: str) -> float:
    """Return how much the second document's logits change when another first one is packed.

    NaN if the call raises an error, as FlashAttention 2 does on a mask with four axes.
    """
    model, options = tiny_model(), CALLS[call]
    if call in CHECKPOINTED:
        model.activation_checkpointing_enable()
        model.train()
    model.config._attn_implementation = implementation  # noqa: SLF001
    rows = len(options.get("position_ids", POSITIONS))
    tokens = torch.randint(VOCABULARY, (rows, TOKENS), generator=torch.Generator().manual_seed(0))
    other = tokens.clone()
    other[:, :FIRST] = (other[:, :FIRST] + 7) % VOCABULARY
    try:
        with flash_attention_on_cpu():
            first, second = (model(x, **options).logits[:, FIRST:] for x in (tokens, other))
    except IndexError:
        return math.nan
    return float((first - second).abs().max())
