import torch

from attn_docs import KVCache, MultiHeadAttention, alibi_bias, alibi_slopes
from attn_docs.exhibits.position import (
    alibi_of_new_tokens,
    alibi_one_series,
    alibi_rewards_distance,
    bias_scaled,
    t5_all_in_bucket_zero,
)

torch.manual_seed(0)
torch.set_grad_enabled(False)
query, key = torch.randn(2, 1, 8, 6, 4).unbind()  # b h n d each
bias, at = alibi_bias(8, 6), torch.arange(6)
later = at > at[:, None]  # n n
attend, x = MultiHeadAttention(24, 8), torch.randn(1, 6, 24)
cache = KVCache(1, 8, 3, capacity=6)
steps = [alibi_of_new_tokens.step(attend, x[:, [t]], cache) for t in range(6)]
whole = attend(x, attn_mask=bias, is_causal=True)


def seen(bias):  # the weights of equal scores under a causal mask
    return bias.masked_fill(later, -torch.inf).softmax(-1)


far_first = alibi_rewards_distance.bias(alibi_slopes(8), 6)
rows = {
    "alibi_one_series": (alibi_one_series.slopes(12), alibi_slopes(12)),
    "alibi_rewards_distance": (seen(far_first), seen(bias)[0]),
    "alibi_of_new_tokens": (torch.cat(steps, dim=1), whole),
    "bias_scaled": (bias_scaled.scores(query, key, bias), query @ key.mT / 2 + bias),
    "t5_all_in_bucket_zero": (t5_all_in_bucket_zero.exact_bucket(at - 5), 5 - at),
}
for name, (wrong, wanted) in rows.items():
    same = "equal" if torch.allclose(wrong.float(), wanted.float(), atol=1e-5) else "NOT equal"
    print(f"{name:22} shape {wrong.shape == wanted.shape}, {same}")
#> alibi_one_series       shape True, NOT equal
#> alibi_rewards_distance shape True, NOT equal
#> alibi_of_new_tokens    shape True, NOT equal
#> bias_scaled            shape True, NOT equal
#> t5_all_in_bucket_zero  shape True, NOT equal
