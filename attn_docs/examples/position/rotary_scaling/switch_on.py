# pip install transformers
import tempfile

from transformers import AutoModelForCausalLM, Qwen3Config, Qwen3ForCausalLM

name = tempfile.mkdtemp()  # yours: "Qwen/Qwen3-8B"; here a tiny model with random weights
tiny = Qwen3Config(hidden_size=64, intermediate_size=64, num_hidden_layers=1, vocab_size=50)
Qwen3ForCausalLM(tiny).save_pretrained(name)

yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
yarn["rope_theta"] = 1000000.0  # the model's own
options = {"rope_parameters": yarn, "max_position_embeddings": 131072}
model = AutoModelForCausalLM.from_pretrained(name, **options)
attention_factor = model.model.rotary_emb.attention_scaling
print(model.config.rope_parameters["rope_theta"], round(attention_factor, 4))
#> 1000000.0 1.1386
