"""Decoding with latent attention: absorbed, naive, and with keys and values kept unpacked."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import LatentCache, MultiHeadLatentAttention, merge_heads, split_heads
from docs._kit.measure import kernel_of, one_thread, paired_ratio
from docs._kit.measured import Measurement, measurement

# a layer of DeepSeek-V2-Lite
SIZES = {
    "embed_dim": 2048,
    "num_heads": 16,
    "kv_rank": 512,
    "head_dim": 128,
    "rope_dim": 64,
    "value_dim": 128,
}
CONTEXTS = (256, 1024, 4096)
ROUNDS = 9
WAYS = ("absorbed", "naive", "unpacked")


def prepare(
    context: int, **sizes: int
) -> tuple[MultiHeadLatentAttention, dict[str, Callable[[], Tensor]]]:
    """Return a module and, for each way, the step of one word after `context` kept ones."""
    torch.manual_seed(0)
    attend = MultiHeadLatentAttention(**sizes).eval()
    c, r, d = attend.kv_rank, attend.rope_dim, attend.head_dim
    cache = LatentCache(1, c, r, context + 1)
    cache.entries.normal_()
    x = torch.randn(1, 1, sizes["embed_dim"])
    position = torch.tensor([context])

    def unpack(entries: Tensor) -> tuple[Tensor, Tensor]:
        up = split_heads(attend.kv_b_proj(entries[:, 0, :, :c]), attend.num_heads)
        rotary = entries[..., c:].expand(-1, attend.num_heads, -1, -1)
        # as wide as the keys: fused kernels want one size
        value = F.pad(up[..., d:], (0, max(0, d + r - attend.value_dim)))
        return torch.cat((up[..., :d], rotary), -1), value

    with torch.no_grad():
        key, value = unpack(cache.entries)

    def latent(*, absorb: bool) -> Tensor:
        cache.length = context  # as before this word
        return attend(x, is_causal=True, cache=cache, absorb=absorb)

    def unpacked() -> Tensor:
        query = split_heads(attend.q_proj(x), attend.num_heads)
        turned = attend.rotary(query[..., d:], position)
        entry = attend.kv_a_proj(x).unsqueeze(1)
        rotary = attend.rotary(entry[..., c:], position)
        new = unpack(torch.cat((attend.kv_a_norm(entry[..., :c]), rotary), -1))
        key[:, :, context:], value[:, :, context:] = new
        query = torch.cat((query[..., :d], turned), -1)
        heads = F.scaled_dot_product_attention(query, key, value)[..., : attend.value_dim]
        return attend.out_proj(merge_heads(heads))

    steps = {
        "absorbed": lambda: latent(absorb=True),
        "naive": lambda: latent(absorb=False),
        "unpacked": unpacked,
    }
    return attend, steps


@torch.no_grad()
def measure() -> dict[str, Measurement]:
    """Measure all ways over the context's length, in float32, on one thread."""
    with one_thread():
        reference = prepare(CONTEXTS[0], **SIZES)[1]["absorbed"]
        values = [
            {
                "way": way,
                "context": context,
                "quantity": "time",
                "value": paired_ratio(step, reference, ROUNDS),
                "unit": "ratio",
                "kernel": kernel_of(step),
            }
            for context in CONTEXTS
            for way, step in prepare(context, **SIZES)[1].items()
        ]
    return {"decode": measurement(values, threads=1)}
