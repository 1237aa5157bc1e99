FLOPS, BANDWIDTH = 989.4e12, 3.35e12  # an H100
P, LAYERS, HEADS, KV_HEADS, SIZE = 7_504_924_672, 32, 32, 8, 128  # Llama 3.1 8B


def seconds(batch, length):  # of a step; reading and computing go on at the same time
    read = 2 * P + batch * 4 * LAYERS * KV_HEADS * SIZE * length
    flops = batch * (2 * P + 4 * LAYERS * HEADS * SIZE * length)
    return max(read / BANDWIDTH, flops / FLOPS)


cases = (1, 4096), (64, 128), (512, 128), (4096, 16), (4096, 128)  # batch, length
right = 4.641, 4.801, 7.802, 62.17, 62.42  # milliseconds, by DecodeCost of attn_docs
errors = [abs(1000 * seconds(*case) / ms - 1) for case, ms in zip(cases, right, strict=True)]
print("passed" if max(errors) < 1e-3 else "failed")
#> passed
