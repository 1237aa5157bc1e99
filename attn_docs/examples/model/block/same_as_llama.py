# pip install transformers
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from attn_docs import GroupedQueryAttention, Llama3Scaling, RotaryEmbedding
from attn_docs.model import Block, DecoderModel, GatedMLP

D, h, g = 48, 6, 2
rope = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0}  # as in Llama 3.1
rope |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
rope |= {"original_max_position_embeddings": 8192}
config = LlamaConfig(
    hidden_size=D, num_attention_heads=h, num_key_value_heads=g, intermediate_size=80,
    num_hidden_layers=3, vocab_size=50, rms_norm_eps=1e-5, tie_word_embeddings=False,
    max_position_embeddings=131072, rope_parameters=rope,
)  # fmt: skip
theirs = LlamaForCausalLM(config).eval().requires_grad_(False)
for parameter in theirs.parameters():
    nn.init.normal_(parameter, std=0.2)

rope, scaling = config.rope_parameters, None  # since transformers 5
if rope["rope_type"] == "llama3":
    rule = ("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor")
    scaling = Llama3Scaling(*(rope[name] for name in rule))
elif rope["rope_type"] != "default":
    raise ValueError(f"rope_type must be default or llama3 here; got {rope['rope_type']}")


def block():
    rotary = RotaryEmbedding(D // h, theta=rope["rope_theta"], scaling=scaling)
    attention = GroupedQueryAttention(D, h, g, bias=False, rotary=rotary)
    return Block(attention, GatedMLP(D, 80), nn.RMSNorm(D, 1e-5), nn.RMSNorm(D, 1e-5))


options = {"norm": nn.RMSNorm(D, 1e-5), "tied": config.tie_word_embeddings}
ours = DecoderModel(50, D, [block() for _ in range(3)], **options)
names = {
    "model.layers": "blocks", "model.embed_tokens": "token_embedding", "model.norm": "norm",
    "lm_head": "output", "self_attn": "attention", "o_proj": "out_proj",
    "input_layernorm": "attention_norm", "post_attention_layernorm": "mlp_norm",
}  # fmt: skip
state = {}
for key, numbers in theirs.state_dict().items():
    name = key
    for their, our in names.items():
        name = name.replace(their, our)
    state[name] = numbers
print(ours.load_state_dict(state))
#> <All keys matched successfully>

tokens = torch.randint(50, (1, 1000))
wanted = theirs(tokens).logits
error = (ours(tokens) - wanted).abs().max()
print(bool(error <= 2e-6 * wanted.abs().max()))
#> True
