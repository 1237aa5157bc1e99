import torch

from attn_docs import GroupedQueryAttention, RotaryEmbedding

graphs = []


def backend(graph, _inputs):  # counts what is traced; to compile, leave backend= out
    graphs.append(graph)
    return graph.forward


torch.manual_seed(0)
attend = GroupedQueryAttention(24, 6, 2, rotary=RotaryEmbedding(4)).eval()
compiled = torch.compile(attend, fullgraph=True, backend=backend)
x = torch.randn(2, 40, 24)
with torch.no_grad():
    expected = attend(x, is_causal=True)
    cache = attend.new_cache(batch=2, capacity=64)
    outputs = [compiled(x[:, :8], cache=cache)]  # prefill
    outputs += [compiled(x[:, [t]], cache=cache) for t in range(8, 40)]  # 32 steps
print(torch.allclose(torch.cat(outputs, dim=1), expected, atol=1e-6), len(graphs))
#> True 2
