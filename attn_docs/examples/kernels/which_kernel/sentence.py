import torch.nn.functional as F

from attn_docs import which_kernel
from attn_docs.sentence import MEANINGS, embeddings, projections

x = embeddings()
w_q, w_k, w_v = projections(sharpness=6.0)
query, key, value = x @ w_q, x @ w_k, x @ w_v  # n d, m d, m e: d = 3, e = 4

with_heads = [x[None, None] for x in (query, key, value)]  # b h n d, b h m d, b h m e
shorter = [*with_heads[:2], with_heads[2][..., :3]]  # without the meaning "dreaming": e = 3

for call in ((query, key, value), with_heads, shorter):
    it = F.scaled_dot_product_attention(*call).squeeze()[3]  # e
    print(f"{it[MEANINGS.index('animal')]:.4f} of animal in 'it', by {which_kernel(*call)}")
#> 0.8887 of animal in 'it', by MATH
#> 0.8887 of animal in 'it', by MATH
#> 0.8887 of animal in 'it', by FLASH_ATTENTION
