# pip install transformers
import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block, DecoderModel

sizes = {"n_embd": 48, "n_head": 4, "n_layer": 3, "n_positions": 16, "vocab_size": 50}
theirs = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
theirs, config = theirs.eval(), theirs.config
D = config.n_embd


def block():
    mlp, norms = MLP(D, approximate="tanh"), (nn.LayerNorm(D), nn.LayerNorm(D))
    return Block(MultiHeadAttention(D, config.n_head), mlp, *norms)


blocks = [block() for _ in range(config.n_layer)]
options = {"max_length": config.n_positions, "norm": nn.LayerNorm(D), "tied": True}
ours = DecoderModel(config.vocab_size, D, blocks, **options)
names = {
    "transformer.": "", "wte": "token_embedding", "wpe": "position_embedding", "h.": "blocks.",
    "ln_f": "norm", "ln_1": "attention_norm", "ln_2": "mlp_norm", "lm_head": "output",
    "attn.c_proj": "attention.out_proj", "mlp.c_proj": "mlp.down_proj", "c_fc": "up_proj",
}  # fmt: skip
state = {}
for key, numbers in theirs.state_dict().items():
    name = key
    for their, our in names.items():
        name = name.replace(their, our)
    matrix = name.startswith("blocks") and numbers.ndim == 2
    ready = numbers.T if matrix else numbers  # GPT-2 stores (in, out), a linear layer (out, in)
    if "c_attn" in name:  # queries, keys, values
        for letter, third in zip("qkv", ready.split(D), strict=True):
            state[name.replace("attn.c_attn", f"attention.{letter}_proj")] = third
    else:
        state[name] = ready
print(ours.load_state_dict(state))
#> <All keys matched successfully>

tokens = torch.randint(config.vocab_size, (2, 11))
wanted = theirs(tokens).logits
error = (ours(tokens) - wanted).abs().max()
print(bool(error <= 2e-6 * wanted.abs().max()))
#> True
