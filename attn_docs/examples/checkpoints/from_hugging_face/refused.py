# pip install transformers
from transformers import Gemma2Config, LlamaConfig, OlmoConfig
from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention
from transformers.models.llama.modeling_llama import LlamaAttention
from transformers.models.olmo.modeling_olmo import OlmoAttention

from attn_docs import from_transformers

sizes = {"hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
clipped = OlmoAttention(OlmoConfig(**sizes, clip_qkv=8.0), layer_idx=0)
both_ways = Gemma2Attention(Gemma2Config(**sizes, use_bidirectional_attention=True), layer_idx=0)
sections = LlamaAttention(LlamaConfig(**sizes), layer_idx=0)
sections.config.rope_parameters["mrope_section"] = [1, 1, 2]
unknown = LlamaAttention(LlamaConfig(**sizes, attn_temperature=True), layer_idx=0)
fork = type("LlamaAttention", (LlamaAttention,), {"__module__": "fork.modeling"})
of_a_fork = fork(LlamaConfig(**sizes), layer_idx=0)  # the same name, perhaps another forward
for layer in (clipped, both_ways, sections, unknown, of_a_fork, of_a_fork.q_proj):
    try:
        from_transformers(layer)
    except ValueError as error:
        told = str(error)
        print(told if len(told) < 92 else f"{told[:70]} … {told[-18:]}")
#> clip_qkv must be None or False; got 8.0
#> use_bidirectional_attention must be None or False; got True
#> mrope_section must be absent with rope_type 'default'; got [1, 1, 2]
#> attn_temperature must be None, because no converter of this family is  …  read it; got True
#> module must be of transformers' own class LlamaAttention; got fork.modeling.LlamaAttention
#> module must be one of BertAttention, BloomAttention, CamembertAttentio … ention; got Linear
