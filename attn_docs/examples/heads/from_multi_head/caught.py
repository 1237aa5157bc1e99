import torch

from attn_docs import (
    GroupedQueryAttention,
    grouped_query_to_multi_head,
    multi_head_to_grouped_query,
)
from attn_docs.exhibits.heads import (
    pooled_by_sum,
    pooled_rows,
    pooled_strided,
    queries_pooled,
    values_left_new,
)

torch.manual_seed(0)
x = torch.randn(2, 5, 24)
wanted = GroupedQueryAttention(24, num_heads=6, num_kv_heads=3, bias=False)
multi = grouped_query_to_multi_head(wanted)  # equal heads in each group: the right result is known


def with_pool(pool):
    new = multi_head_to_grouped_query(multi, 3, method="random")
    for name in ("k_proj", "v_proj"):
        weight = pool(multi.get_parameter(f"{name}.weight"), 3, 4)
        new.load_state_dict({f"{name}.weight": weight}, strict=False)
    return new


found = {"multi_head_to_grouped_query": multi_head_to_grouped_query(multi, 3)}
for exhibit in (pooled_strided, pooled_rows, pooled_by_sum):
    found[exhibit.__name__.rpartition(".")[2]] = with_pool(exhibit.pool)
for exhibit in (values_left_new, queries_pooled):
    found[exhibit.__name__.rpartition(".")[2]] = exhibit.convert(multi, 3)
for name, module in found.items():
    print(f"{name:16}", "exact" if torch.allclose(module(x), multi(x), atol=1e-6) else "WRONG")
#> multi_head_to_grouped_query exact
#> pooled_strided   WRONG
#> pooled_rows      WRONG
#> pooled_by_sum    WRONG
#> values_left_new  WRONG
#> queries_pooled   WRONG
