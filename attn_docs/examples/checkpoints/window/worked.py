from attn_docs import scaled_dot_product_attention, sliding_window_mask
from attn_docs.sentence import FEATURES, MEANINGS, WORDS, embeddings, labelled, projections

x, (w_q, w_k, w_v) = embeddings(), projections(sharpness=6.0)
mask = sliding_window_mask(5, window=3)  # n n: itself and the two words before it
first = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, mask)  # n, meanings
print(labelled(first, WORDS, MEANINGS))
#>         definite    animal    asleep  dreaming
#> the         1.00      0.00      0.00      0.00
#> cat         0.50      0.50      0.00      0.00
#> sleeps      0.02      0.49      0.49      0.00
#> it          0.00      0.94      0.03      0.00
#> dreams      0.00      0.00      0.49      0.49

y = x.clone()
y[:, FEATURES.index(MEANINGS[0]) :] += first  # the meanings' columns: what was found is added
second = scaled_dot_product_attention(y @ w_q, y @ w_k, y @ w_v, mask)
print(labelled(second[-1:], WORDS[-1:], MEANINGS))
#>         definite    animal    asleep  dreaming
#> dreams      0.01      0.26      0.98      0.73
