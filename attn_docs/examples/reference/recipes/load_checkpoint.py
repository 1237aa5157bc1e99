# pip install transformers
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from transformers import AutoConfig, LlamaConfig, LlamaModel

from attn_docs import GroupedQueryAttention, RotaryEmbedding

sizes = {"num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 3}
model = LlamaModel(LlamaConfig(hidden_size=64, intermediate_size=96, vocab_size=50, **sizes))
folder = Path(tempfile.mkdtemp())  # yours: where the checkpoint is
model.save_pretrained(folder, max_shard_size="60KB")  # several files, as large models have
prefix, weights = "layers.1.self_attn.", {}  # with a language head: "model.layers.1.self_attn."
for file in folder.glob("*.safetensors"):
    with safe_open(file, framework="pt") as tensors:  # reads what is asked for, and no more
        for key in filter(lambda key: key.startswith(prefix), tensors.keys()):
            weights[key.removeprefix(prefix).replace("o_", "out_")] = tensors.get_tensor(key)
rope = AutoConfig.from_pretrained(folder).rope_parameters
assert rope["rope_type"] == "default", "rescaled: pass scaling="
rotary = RotaryEmbedding(8, theta=rope["rope_theta"])
attend = GroupedQueryAttention(64, 8, 2, bias=False, rotary=rotary)
print(attend.load_state_dict(weights))
#> <All keys matched successfully>
print(torch.equal(attend.k_proj.weight, model.layers[1].self_attn.k_proj.weight))
#> True
