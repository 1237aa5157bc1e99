# pip install transformers
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from attn_docs import GroupedQueryAttention, RotaryEmbedding, from_transformers

torch.manual_seed(0)
sizes = {"hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2}
config = LlamaConfig(**sizes, intermediate_size=96, vocab_size=50, num_hidden_layers=1)
model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)  # yours: from_pretrained
theirs = model.model.layers[0].self_attn.float()  # compare in float32
x = torch.randn(2, 10, 64)
cos_sin = model.model.rotary_emb(x, torch.arange(10)[None])
expected, _ = theirs(x, position_embeddings=cos_sin, attention_mask=None)
ours = from_transformers(theirs)  # in one call
print(torch.allclose(ours(x, is_causal=True), expected, atol=1e-6))
#> True
rope = config.rope_parameters  # and by hand
assert rope["rope_type"] == "default", "rescaled: pass scaling="
rotary = RotaryEmbedding(theirs.head_dim, theta=rope["rope_theta"])
ours = GroupedQueryAttention(
    embed_dim=config.hidden_size, num_heads=config.num_attention_heads,
    num_kv_heads=config.num_key_value_heads, head_dim=theirs.head_dim, bias=False, rotary=rotary,
)
weights = {k.replace("o_proj", "out_proj"): v for k, v in theirs.state_dict().items()}
print(ours.load_state_dict(weights))
#> <All keys matched successfully>
print(torch.allclose(ours(x, is_causal=True), expected, atol=1e-6))
#> True
