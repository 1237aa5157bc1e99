from attn_docs import kv_cache_bytes, load_models
from attn_docs.exhibits.checkpoints import models_k_eq_v_halved, models_state_grows

models, tokens = load_models(), 131_072
hybrid = ["linear_attention"] * 36 + ["full_attention"] * 12
gemma = tokens * models_k_eq_v_halved.bytes_per_token(10, 4, 512, one_projection=True)
gemma += 1024 * models_k_eq_v_halved.bytes_per_token(50, 16, 256, one_projection=False)
wrong = {
    "Gemma-4-31B": gemma,
    "Qwen3-Next-80B": tokens * models_state_grows.bytes_per_token(hybrid, 2, 256),
}
for name, number in wrong.items():
    right = kv_cache_bytes(models[name].config, tokens)
    print(f"{name:15} {number / 2**30:6.3f} GiB instead of {right / 2**30:6.3f}")
#> Gemma-4-31B      5.781 GiB instead of 10.781
#> Qwen3-Next-80B  12.000 GiB instead of  3.073
