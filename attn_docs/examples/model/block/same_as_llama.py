# pip install transformers
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from attn_docs import GroupedQueryAttention, RotaryEmbedding
from attn_docs.model import Block, DecoderModel, GatedMLP

D, h, g = 48, 6, 2
config = LlamaConfig(
    hidden_size=D, num_attention_heads=h, num_key_value_heads=g, intermediate_size=80,
    num_hidden_layers=3, vocab_size=50, rms_norm_eps=1e-5, tie_word_embeddings=False,
)  # fmt: skip
rope = config.rope_parameters  # since transformers 5
assert rope["rope_type"] == "default", "Llama 3.1 rescales its frequencies"
theirs = LlamaForCausalLM(config).eval()
for parameter in theirs.parameters():
    nn.init.normal_(parameter, std=0.2)


def block():
    rotary = RotaryEmbedding(D // h, theta=rope["rope_theta"])
    attention = GroupedQueryAttention(D, h, g, bias=False, rotary=rotary)
    return Block(attention, GatedMLP(D, 80), nn.RMSNorm(D, 1e-5), nn.RMSNorm(D, 1e-5))


ours = DecoderModel(50, D, [block() for _ in range(3)], norm=nn.RMSNorm(D, 1e-5))
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

tokens = torch.randint(50, (2, 11))
wanted = theirs(tokens).logits
error = (ours(tokens) - wanted).abs().max()
print(bool(error <= 2e-6 * wanted.abs().max()))
#> True
