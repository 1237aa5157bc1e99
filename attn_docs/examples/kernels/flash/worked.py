import math

import torch

from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()
w_q, w_k, w_v = projections(sharpness=math.log(8))  # a verb scores ln 8, any other word 0
query, key, value = x[1] @ w_q, x @ w_k, x @ w_v  # d, m d, m e: "cat" asks

top, total, mixed = -math.inf, 0.0, 0.0
for start in range(0, 5, 2):  # tiles of two words
    tile = slice(start, start + 2)
    scores = key[tile] @ query
    new_top = max(top, scores.max().item())
    shrink, powers = math.exp(top - new_top), (scores - new_top).exp()
    total, mixed = total * shrink + powers.sum(), mixed * shrink + powers @ value[tile]
    top = new_top
    print(f"after '{' '.join(WORDS[tile])}', what was there before × {shrink:.3f}:")
    print(labelled(torch.cat((mixed, total[None]))[None], ["mix"], [*MEANINGS, "sum"]))
#> after 'the cat', what was there before × 0.000:
#>      definite    animal    asleep  dreaming       sum
#> mix      1.00      1.00      0.00      0.00      2.00
#> after 'sleeps it', what was there before × 0.125:
#>      definite    animal    asleep  dreaming       sum
#> mix      0.12      0.12      1.00      0.00      1.38
#> after 'dreams', what was there before × 1.000:
#>      definite    animal    asleep  dreaming       sum
#> mix      0.12      0.12      1.00      1.00      2.38
print(labelled((mixed / total)[None], ["cat"], MEANINGS))
#>      definite    animal    asleep  dreaming
#> cat      0.05      0.05      0.42      0.42
