import torch
import torch.nn.functional as F

from attn_docs.exhibits.heads import heads_folded_causal, key_without_head_axis

torch.manual_seed(0)
query = torch.randn(3, 3, 5, 4)  # b h n d: as many texts as heads
key, value = torch.randn(3, 5, 4), torch.randn(3, 5, 4)  # b m d
right = F.scaled_dot_product_attention(
    query, key[:, None], value[:, None], is_causal=True, enable_gqa=True
)
other_text = value.clone()
other_text[2] += 100.0
other_future = value.clone()
other_future[:, 4] += 100.0

print("shape  texts kept apart  future hidden  equals PyTorch")
#> shape  texts kept apart  future hidden  equals PyTorch
for bug in (key_without_head_axis, heads_folded_causal):
    output = bug.attention(query, key, value)
    text = bug.attention(query, key, other_text)
    future = bug.attention(query, key, other_future)
    checks = (
        output.shape == right.shape,
        torch.equal(output[:2], text[:2]),
        torch.equal(output[:, :, :4], future[:, :, :4]),
        torch.allclose(output, right, atol=1e-6),
    )
    print(*("pass" if check else "FAIL" for check in checks), bug.__name__.rpartition(".")[2])
#> pass FAIL pass FAIL key_without_head_axis
#> pass pass FAIL FAIL heads_folded_causal
