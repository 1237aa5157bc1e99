from attn_docs import kv_cache_bytes, load_models

model, bandwidth = load_models()["Llama-3.1-8B"], 3.35e12  # an H100, by its data sheet
read = model.weight_bytes - 2 * 128_256 * 4096  # of the input embedding, only a token's row
print("tokens in each text:   1,024   8,192  65,536")
#> tokens in each text:   1,024   8,192  65,536
for batch in (1, 8, 64):
    rates = []
    for length in (1024, 8192, 65536):
        cache = kv_cache_bytes(model.config, length)
        fits = model.weight_bytes + batch * cache <= 81_559 * 2**20  # its memory
        rates.append(bandwidth / (read / batch + cache) if fits else None)
    print(f"batch {batch:2}: at most   ", end="")
    print(*(f"{rate:7.0f}" if rate else "no room" for rate in rates))
#> batch  1: at most       221     208     142
#> batch  8: at most      1666    1136     320
#> batch 64: at most      9085    2561 no room
