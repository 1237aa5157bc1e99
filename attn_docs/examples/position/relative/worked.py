import torch

from attn_docs import alibi_bias, attention_weights
from attn_docs.sentence import WORDS, embeddings, labelled, projections

x = embeddings()  # n 8
w_q, w_k, _ = projections(sharpness=6.0)
query, key = x @ w_q, x @ w_k  # n 3 each
bias = alibi_bias(num_heads=8, query_len=5)  # 1 h n n: eight heads with slopes of their own
rows = {"no positions": attention_weights(query, key, is_causal=True)}  # n n
for head, slope in ((0, "1/2"), (2, "1/8"), (7, "1/256")):
    rows[f"slope {slope}"] = attention_weights(query, key, bias[0, head], is_causal=True)
dreams = torch.stack([weights[WORDS.index("dreams")] for weights in rows.values()])
print(labelled(dreams, list(rows), WORDS))
#>                  the     cat  sleeps      it  dreams
#> no positions    0.01    0.33    0.33    0.01    0.33
#> slope 1/2       0.00    0.14    0.23    0.01    0.62
#> slope 1/8       0.01    0.27    0.31    0.01    0.40
#> slope 1/256     0.01    0.32    0.33    0.01    0.33
