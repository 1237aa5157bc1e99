import torch


def attend_in_tiles(query, key, value, block_q=2, block_k=3):  # n d, m d, m e
    output = query.new_empty(len(query), value.size(-1))  # n e: written once
    for rows in torch.arange(len(query)).split(block_q):
        q = query[rows] / query.size(-1) ** 0.5  # rows d: read once
        top, total, mixed = q.new_full((len(q), 1), -torch.inf), 0.0, 0.0
        for columns in torch.arange(len(key)).split(block_k):
            scores = q @ key[columns].T  # rows columns: one tile, soon forgotten
            new_top = torch.maximum(top, scores.amax(-1, keepdim=True))  # rows 1
            powers, shrink = (scores - new_top).exp(), (top - new_top).exp()
            total = total * shrink + powers.sum(-1, keepdim=True)  # rows 1
            mixed = mixed * shrink + powers @ value[columns]  # rows e
            top = new_top
        output[rows] = mixed / total
    return output


query, key, value = torch.randn(7, 4), torch.randn(8, 4), torch.randn(8, 3)

from attn_docs import flash_attention

wanted = flash_attention(query, key, value)
print(torch.allclose(attend_in_tiles(query, key, value), wanted, atol=1e-6))
#> True
