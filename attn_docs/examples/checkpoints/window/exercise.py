import torch

from attn_docs import sliding_window_mask


def window_mask(n, m, window, first):
    """The last query stands at the last key. Row i: the last `window` keys, and the `first`."""
    i, j = torch.arange(m - n, m).unsqueeze(1), torch.arange(m)  # n 1, m
    return (j <= i) & (i - j <= window) | (j < first)  # n m


cases = [(n, m, w, f) for n in (1, 5) for m in (5, 9) for w in (1, 3, 20) for f in (0, 1, 4)]
same = [
    torch.equal(window_mask(*case), sliding_window_mask(*case[:2], window=case[2],
                keep_first=case[3], offset=case[1] - case[0]))
    for case in cases
]
print("passed" if all(same) else "failed")
#> failed
