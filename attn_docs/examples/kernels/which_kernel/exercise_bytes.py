import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile


def formula(b, h, n, m, d):  # bytes: scores, weights, scaled queries and keys, output; booleans
    return 4 * b * h * (2 * n * m + n * d + m * d + n * d) + b * h * n * m


def watched(b, h, n, m, d):
    query, (key, value) = torch.randn(b, h, n, d), torch.randn(2, b, h, m, d)
    with sdpa_kernel(SDPBackend.MATH), profile(
        activities=[ProfilerActivity.CPU], profile_memory=True
    ) as profiler:
        F.scaled_dot_product_attention(query, key, value)
    events = profiler.profiler.kineto_results.events()
    return sum(e.nbytes() for e in events if e.name() == "[memory]" and e.nbytes() >= 1024)


sizes = (1, 4, 96, 128, 64)
print(f"{watched(*sizes) / formula(*sizes):.2f}")
#> 1.00
print(f"{formula(1, 8, 2048, 2048, 64) / 2**20:.0f} MiB")
#> 300 MiB
