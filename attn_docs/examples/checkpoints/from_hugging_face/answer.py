import torch

from attn_docs import GroupedQueryAttention


def split(weight, head_dim):
    """Cut Qwen3-Next's q_proj, whose heads have a query and then a gate, into the two."""
    heads = weight.unflatten(0, (-1, 2, head_dim))  # (heads, 2, head_dim, embed_dim)
    query, gate = heads.unbind(1)
    return query.flatten(0, 1), gate.flatten(0, 1)


def grade(written):
    torch.manual_seed(0)
    x, fused = torch.randn(2, 9, 20), torch.randn(6, 2, 4, 20)  # 6 heads of 4
    outputs = []
    for query, gate in ((fused[:, 0], fused[:, 1]), written(fused.reshape(48, 20), head_dim=4)):
        torch.manual_seed(1)
        gates = torch.nn.Linear(20, 24, bias=False)
        layer = GroupedQueryAttention(20, 6, 2, head_dim=4, bias=False, gate=gates)
        layer.q_proj.weight.data = query.reshape(24, 20)
        gates.weight.data = gate.reshape(24, 20)
        outputs.append(layer(x, is_causal=True))
    return "passed" if torch.allclose(*outputs, atol=1e-5) else "failed"


print(grade(split))
#> passed
