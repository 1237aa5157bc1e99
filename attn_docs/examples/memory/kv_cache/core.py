import torch


class Cache:
    def __init__(self, room, d, e):
        self.key, self.value = torch.empty(room, d), torch.empty(room, e)  # float32
        self.length = 0  # how many tokens it holds

    def update(self, key, value):  # n d, n e: of the new tokens alone
        new = slice(self.length, self.length + len(key))
        self.key[new], self.value[new] = key, value
        self.length = new.stop
        return self.key[: new.stop], self.value[: new.stop]  # m d, m e: views, no copy


def attend(query, key, value):  # n d, m d, m e: the last query stands at the last key
    n, m = len(query), len(key)
    later = torch.ones(n, m).triu(m - n + 1) > 0  # n m: True where the key is later
    scores = query @ key.T / query.size(-1) ** 0.5  # n m
    return scores.masked_fill(later, float("-inf")).softmax(dim=-1) @ value  # n e


from attn_docs import causal_mask, scaled_dot_product_attention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x, (w_q, w_k, w_v) = embeddings(), projections(sharpness=6.0)
cache = Cache(5, 3, 4)
steps = [  # prefill "the cat sleeps", then decode "it", then "dreams"
    attend(new @ w_q, *cache.update(new @ w_k, new @ w_v)) for new in x.split((3, 1, 1))
]
print(labelled(torch.cat(steps), WORDS, MEANINGS))
#>         definite    animal    asleep  dreaming
#> the         1.00      0.00      0.00      0.00
#> cat         0.50      0.50      0.00      0.00
#> sleeps      0.02      0.49      0.49      0.00
#> it          0.03      0.91      0.03      0.00
#> dreams      0.01      0.33      0.33      0.33
whole = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, causal_mask(5))
print(torch.allclose(torch.cat(steps), whole))
#> True
