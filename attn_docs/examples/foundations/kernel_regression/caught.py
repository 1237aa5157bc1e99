import torch

from attn_docs import nadaraya_watson
from attn_docs.exhibits.foundations import inverse_width, kernel_over_queries

torch.manual_seed(0)
query, keys, values = (torch.randn(count, dtype=torch.float64) for count in (5, 7, 7))


def right(query, keys, values, width):
    return nadaraya_watson(query, keys, values, width=width)


print("shape  ones stay ones  one query alone  wide gives the mean")
#> shape  ones stay ones  one query alone  wide gives the mean
for name, regression in (
    ("right", right),
    ("inverse width", inverse_width.regression),
    ("softmax over queries", kernel_over_queries.regression),
):
    output = regression(query, keys, values, 0.6)
    checks = (
        output.shape == (5,),
        torch.allclose(regression(query, keys, values**0, 0.6), query**0),
        torch.allclose(regression(query[:1], keys, values, 0.6), output[:1]),
        torch.allclose(regression(query, keys, values, 1e6), values.mean()),
    )
    print(*("pass" if check else "FAIL" for check in checks), name)
#> pass pass pass pass right
#> pass pass pass FAIL inverse width
#> pass FAIL FAIL FAIL softmax over queries
