import torch

from attn_docs import attention_weights, padding_mask, scaled_dot_product_attention
from attn_docs.exhibits.foundations import (
    finite_fill,
    four_axis_mask,
    inverted_mask,
    mask_on_query_axis,
    zero_one_added,
)


def right(query, key, value, is_word):
    return scaled_dot_product_attention(query, key, value, is_word[:, None, :])


def late(query, key, value, is_word):
    weights = attention_weights(query, key) * is_word[:, None, :]  # wrong: after the softmax
    return weights @ value


bugs = (inverted_mask, zero_one_added, mask_on_query_axis, four_axis_mask, finite_fill)
named = {bug.__name__.rpartition(".")[2]: bug.attention for bug in bugs}
ways = {"right": right} | named | {"after_the_softmax": late}
torch.manual_seed(0)
query, key, value = (torch.randn(3, 4, 8, dtype=torch.float64) for _ in range(3))  # b n d
identity = torch.eye(4, dtype=torch.float64).expand(3, 4, 4)  # as values: the weights come out

for lengths in ([3, 2, 0], [3, 2, 1]):  # with an empty text, and without one
    is_word = padding_mask(lengths, max_len=4)  # b m
    wanted = is_word.any(dim=1)[:, None].double()  # b 1: 1, or 0 without a key
    k, v = (x.masked_fill(~is_word[:, :, None], 9.0) for x in (key, value))  # other padding
    print(f"{lengths}: row sums, zeros where forbidden, change the padding")
    for name, attend in ways.items():
        weights = attend(query, key, identity, is_word)  # b n m
        sums = torch.allclose(weights.sum(dim=-1), wanted)
        zeros = not (weights * ~is_word[:, None, :]).any()
        output = attend(query, key, value, is_word)
        unmoved = torch.allclose(output, attend(query, k, v, is_word))
        print(*("pass" if check else "FAIL" for check in (sums, zeros, unmoved)), name)
#> [3, 2, 0]: row sums, zeros where forbidden, change the padding
#> pass pass pass right
#> FAIL FAIL FAIL inverted_mask
#> FAIL FAIL FAIL zero_one_added
#> FAIL FAIL FAIL mask_on_query_axis
#> FAIL FAIL FAIL four_axis_mask
#> FAIL FAIL FAIL finite_fill
#> FAIL pass FAIL after_the_softmax
#> [3, 2, 1]: row sums, zeros where forbidden, change the padding
#> pass pass pass right
#> pass FAIL FAIL inverted_mask
#> pass FAIL FAIL zero_one_added
#> pass FAIL FAIL mask_on_query_axis
#> pass FAIL FAIL four_axis_mask
#> pass pass pass finite_fill
#> FAIL pass FAIL after_the_softmax
