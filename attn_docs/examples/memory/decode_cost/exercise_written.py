from attn_docs import DecodeCost

FLOPS, BANDWIDTH = 989.4e12, 3.35e12  # an H100
P, LAYERS, HEADS, KV_HEADS, SIZE = 7_504_924_672, 32, 32, 8, 128  # Llama 3 8B


def seconds(batch, length):  # of a step; reading and computing go on at the same time
    read = 2 * P + batch * 4 * LAYERS * KV_HEADS * SIZE * length
    flops = batch * (2 * P + 4 * LAYERS * HEADS * SIZE * length)
    return max(read / BANDWIDTH, flops / FLOPS)


def right(batch, length):
    flops = batch * (2 * P + 4 * LAYERS * HEADS * SIZE * length)
    cost = DecodeCost(flops, 2 * P + batch * 4 * LAYERS * KV_HEADS * SIZE * length)
    return cost.seconds(flops_per_second=FLOPS, bytes_per_second=BANDWIDTH)


cases = [(b, m) for b in (1, 64, 512, 4096) for m in (16, 128, 4096)]
same = all(abs(seconds(*case) / right(*case) - 1) < 1e-9 for case in cases)
print("passed" if same else "failed")
#> passed
