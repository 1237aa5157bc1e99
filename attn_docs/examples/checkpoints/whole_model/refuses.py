from attn_docs import decoder_from_config
from attn_docs.checkpoints.tiny_qwen3 import CONFIG

decoder_from_config(CONFIG | {"is_llama_config": True, "unsloth_fixed": True})  # say nothing
for wrong in (
    {"model_type": "gemma3_text"},
    {"is_causal": False},
    {"final_logit_softcapping": 30.0},
):
    try:
        decoder_from_config(CONFIG | wrong)
    except ValueError as error:
        print(error)
#> model_type must be one of llama, mistral, qwen2, qwen3; got 'gemma3_text'
#> is_causal must be True; got False
#> final_logit_softcapping must be absent, because qwen3 here does not know it; got 30.0
