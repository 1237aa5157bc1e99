import math

from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()
w_q, w_k, w_v = projections(sharpness=6.0)
query, key, value = x[1] @ w_q, x @ w_k, x @ w_v  # d, m d, m e: "cat" asks

top, total, mixed = -math.inf, 0.0, 0.0
for start in range(0, 5, 2):  # tiles of two words
    tile = slice(start, start + 2)
    scores = key[tile] @ query / math.sqrt(3)
    new_top = max(top, scores.max().item())
    shrink, powers = math.exp(top - new_top), (scores - new_top).exp()
    total, mixed = total * shrink + powers.sum(), mixed * shrink + powers @ value[tile]
    top = new_top
    print(f"after '{' '.join(WORDS[tile])}', what was mixed before × {shrink:.2f}:")
    print(labelled((mixed / total)[None], ["cat"], MEANINGS))
#> after 'the cat', what was mixed before × 0.00:
#>      definite    animal    asleep  dreaming
#> cat      0.50      0.50      0.00      0.00
#> after 'sleeps it', what was mixed before × 0.03:
#>      definite    animal    asleep  dreaming
#> cat      0.03      0.03      0.91      0.00
#> after 'dreams', what was mixed before × 1.00:
#>      definite    animal    asleep  dreaming
#> cat      0.01      0.01      0.48      0.48
