import torch

from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.exhibits.practice import scaled_by_embed_dim, softmax_over_queries
from attn_docs.practice.bugs_that_train import train
from attn_docs.testing import check_module

layers = {"A": scaled_by_embed_dim, "B": right, "C": softmax_over_queries}
for letter, layer in layers.items():
    torch.manual_seed(0)  # the same first weights
    attention = layer.Attention(32, 4)
    shape = tuple(attention(torch.randn(2, 5, 32)).shape)  # b n e
    losses = train(attention)
    loss = f"{losses[0]:.1f} to {sum(losses[-10:]) / 10:.1f}"
    report = check_module(attention, embed_dim=32, causal=True)
    print(f"{letter}: shape {shape}, loss {loss}, {report.verdict}")
    for finding in report.failures[:1]:
        print("  ", finding.cause)
#> A: shape (2, 5, 32), loss 3.0 to 1.1, failed
#>    scaled by √embed_dim = 5.657, expected √head_dim = 2.828
#> B: shape (2, 5, 32), loss 3.0 to 1.1, passed
#> C: shape (2, 5, 32), loss 3.0 to 0.9, failed
#>    the softmax runs over the queries, expected the keys
