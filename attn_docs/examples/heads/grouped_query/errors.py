import torch

from attn_docs import GroupedQueryAttention, grouped_query_attention_repeat
from attn_docs.exhibits.heads import checked_before_set, shape_of_no_mask

query, key, key4 = (torch.randn(2, *rest, 4) for rest in ((6, 5), (3, 7), (4, 7)))
attend = GroupedQueryAttention(24, 6, 3)
calls = {
    "theirs": lambda: checked_before_set.GroupedQueryAttention(24, 6, 3),
    "theirs again": lambda: shape_of_no_mask.attention(query, key, key),
    "4 of 6": lambda: GroupedQueryAttention(24, 6, num_kv_heads=4),
    "0 of 6": lambda: GroupedQueryAttention(24, 6, num_kv_heads=0),
    "4 key heads": lambda: grouped_query_attention_repeat(query, key4, key4),
    "no mask": lambda: attend(torch.randn(2, 5, 24), attn_mask=[True]),
}
for name, call in calls.items():
    try:
        call()
    except (AttributeError, TypeError, ValueError) as error:
        print(f"{name}: {type(error).__name__}")
        print(f"  {error}")
#> theirs: AttributeError
#>   'GroupedQueryAttention' object has no attribute 'num_heads'
#> theirs again: AttributeError
#>   'NoneType' object has no attribute 'shape'
#> 4 of 6: ValueError
#>   num_kv_heads must divide num_heads = 6; got 4
#> 0 of 6: ValueError
#>   num_kv_heads must be 1 or more; got 0
#> 4 key heads: ValueError
#>   key must have query's leading axes (2, 6), its heads a divisor of 6; got (2, 4)
#> no mask: TypeError
#>   attn_mask must be a torch.Tensor or None; got list
