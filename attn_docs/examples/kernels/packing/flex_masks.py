import torch
from torch.nn.attention.flex_attention import and_masks, create_mask

from attn_docs import causal_mask, document_ids, document_mask, sliding_window_mask

n, ids = 10, document_ids([3, 5, 2])


def causal(b, h, q, kv):  # batch, head, query, key: integers, and the result is a boolean
    return q >= kv


def sliding(b, h, q, kv):
    return (q >= kv) & (q - kv < 4)


def prefix(b, h, q, kv):
    return (q >= kv) | (kv < 3)


def document(b, h, q, kv):
    return ids[q] == ids[kv]


ours = {
    causal: causal_mask(n),
    sliding: sliding_window_mask(n, window=4),
    prefix: causal_mask(n) | (torch.arange(n) < 3),
    document: document_mask(ids),
    and_masks(causal, document): causal_mask(n) & document_mask(ids),
}
theirs = [create_mask(mod, None, None, n, n, device="cpu")[0, 0] for mod in ours]
print([torch.equal(*pair) for pair in zip(theirs, ours.values(), strict=True)])
#> [True, True, True, True, True]
