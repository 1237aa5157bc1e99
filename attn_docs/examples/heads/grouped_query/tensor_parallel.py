import torch

from attn_docs import GroupedQueryAttention

torch.manual_seed(0)
h, g, d = 8, 2, 4
layer = GroupedQueryAttention(32, h, g, bias=False)
x = torch.randn(1, 5, 32)  # b n D
w_q, w_k, w_v = layer.q_proj.weight, layer.k_proj.weight, layer.v_proj.weight
w_o = layer.out_proj.weight  # D h·d

for gpus in (2, 4):
    output, cached = torch.zeros_like(x), 0
    for rank in range(gpus):
        part = GroupedQueryAttention(32, h // gpus, max(1, g // gpus), head_dim=d, bias=False)
        share, size = h // gpus * d, max(1, g // gpus) * d
        kv = rank * g // gpus * d  # where this GPU's KV heads begin
        mine = [w_q[rank * share :][:share], w_k[kv:][:size], w_v[kv:][:size]]
        mine.append(w_o[:, rank * share :][:, :share])
        with torch.no_grad():
            for parameter, slice_ in zip(part.parameters(), mine, strict=True):
                parameter.copy_(slice_)
        output += part(x)  # summed over the GPUs: an all-reduce
        cached += part.num_kv_heads
    print(gpus, "GPUs, KV heads cached:", cached, torch.allclose(output, layer(x), atol=1e-6))
#> 2 GPUs, KV heads cached: 2 True
#> 4 GPUs, KV heads cached: 4 True
