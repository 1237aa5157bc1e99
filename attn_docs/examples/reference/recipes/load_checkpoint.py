# pip install transformers
import tempfile
from pathlib import Path

from safetensors import safe_open
from transformers import AutoConfig, LlamaConfig, LlamaForCausalLM

from attn_docs import GroupedQueryAttention, RotaryEmbedding

small = {"hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2}
model = LlamaForCausalLM(LlamaConfig(**small, intermediate_size=96, vocab_size=50))
folder = Path(tempfile.mkdtemp())  # yours: where the checkpoint is
model.save_pretrained(folder, max_shard_size="300KB")  # several files
prefix, weights = "model.layers.1.self_attn.", {}
for path in folder.glob("*.safetensors"):
    with safe_open(path, framework="pt") as file:  # reads only what is asked for
        for key in filter(lambda key: key.startswith(prefix), file.keys()):
            weights[key.removeprefix(prefix).replace("o_proj", "out_proj")] = file.get_tensor(key)
config = AutoConfig.from_pretrained(folder)
assert config.rope_parameters["rope_type"] == "default", "rescaled: pass scaling="
rotary = RotaryEmbedding(config.head_dim, theta=config.rope_parameters["rope_theta"])
heads = config.num_attention_heads, config.num_key_value_heads
options = {"head_dim": config.head_dim, "bias": False, "rotary": rotary}
attend = GroupedQueryAttention(config.hidden_size, *heads, **options)
print(attend.load_state_dict(weights))
#> <All keys matched successfully>
print(attend.k_proj.weight.equal(model.model.layers[1].self_attn.k_proj.weight))
#> True
