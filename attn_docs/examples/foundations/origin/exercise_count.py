def gru_operations(n, d):
    return 2 * n * 6 * d * d  # two gates and a candidate: a matrix each for word and state


def self_attention_operations(n, d):
    return 2 * n * 4 * d * d + 2 * 2 * n * n * d  # four projections, QKᵀ, weights times V


for n in (256, 512, 1024):
    print(n, f"{self_attention_operations(n, 512) / gru_operations(n, 512):.2f}")
#> 256 0.83
#> 512 1.00
#> 1024 1.33
