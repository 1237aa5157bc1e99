import torch
import torch.nn.functional as F

from attn_docs import scaled_dot_product_attention as attend
from attn_docs.sentence import FEATURES, MEANINGS, embeddings, labelled, projections

x = embeddings()  # n D: 5 tokens, 8 features
w_q, w_k, w_v = projections(sharpness=6.0)
w_q[FEATURES.index("pronoun"), 2] = 6.0  # "it" looks for a noun, and now for a verb
w_q, w_k = F.pad(w_q, (0, 1)), F.pad(w_k, (0, 1))  # a column of zeros: two a head
query, key, value = x @ w_q, x @ w_k, x @ w_v  # n 4 each

one = attend(query, key, value)  # one head of size 4
first = attend(query[:, :2], key[:, :2], value[:, :2])  # head 1: determiner, noun
second = attend(query[:, 2:], key[:, 2:], value[:, 2:])  # head 2: verb
two = torch.cat([first, second], dim=-1)  # n 4
rows = ["one head", "two heads"]
print(labelled(torch.stack([one[3], two[3]]), rows, MEANINGS))
#>            definite    animal    asleep  dreaming
#> one head       0.02      0.32      0.32      0.32
#> two heads      0.01      0.95      0.49      0.49
