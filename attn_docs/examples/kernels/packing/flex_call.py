# skip: needs a GPU
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attn_docs import document_ids

attend, make_blocks = torch.compile(flex_attention), torch.compile(create_block_mask)
ids = document_ids([300, 500, 200]).cuda()  # n


def causal_documents(b, h, q, kv):
    return (q >= kv) & (ids[q] == ids[kv])


blocks = make_blocks(causal_documents, None, None, 1000, 1000, device="cuda")  # once a row
query, key, value = torch.randn(3, 1, 8, 1000, 64, device="cuda", dtype=torch.bfloat16)  # b h n d
output = attend(query.requires_grad_(), key, value, block_mask=blocks)  # in each layer
output.sum().backward()
