import torch
import torch.nn.functional as F

from attn_docs import scaled_dot_product_attention as attend
from attn_docs.sentence import FEATURES, MEANINGS, embeddings, labelled, projections

x = embeddings()  # n D
w_q, w_k, w_v = projections(sharpness=6.0)
w_q[FEATURES.index("pronoun")] = 6.0  # "it" looks for a determiner, a noun and a verb
query, key, value = x @ F.pad(w_q, (0, 1)), x @ F.pad(w_k, (0, 1)), x @ w_v  # n 4 each


def of_it(cuts):  # what "it" carries with a head for each cut
    parts = zip(*(columns.split(cuts, dim=-1) for columns in (query, key, value)), strict=True)
    return torch.cat([attend(*part)[3] for part in parts])


print(labelled(torch.stack([of_it([2, 2]), of_it([1, 1, 2])]), ["two", "three"], MEANINGS))
#>        definite    animal    asleep  dreaming
#> two        0.49      0.49      0.49      0.49
#> three      0.99      0.99      0.49      0.49
