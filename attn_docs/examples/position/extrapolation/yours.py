# pip install transformers
import tempfile

import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM, GPTNeoXConfig, GPTNeoXForCausalLM

from attn_docs.model.induction import load_model


def load(name, rule, device="cpu"):  # a model with rotary positions, and the rule to test
    config = AutoConfig.from_pretrained(name)
    assert "rope_theta" in config.rope_parameters, "one entry for each kind of layer"
    config.rope_parameters = config.rope_parameters | rule
    return AutoModelForCausalLM.from_pretrained(name, config=config).eval().to(device)


@torch.no_grad()
def losses(model, texts, parts=8):  # b n, token ids: the mean loss in each part of the texts
    found = []
    for places in torch.arange(texts.size(1) - 1, device=texts.device).chunk(parts):
        # b n/parts vocab, one pass for each part: the logits of all n are too many
        logits = model(texts[:, :-1], logits_to_keep=places, use_cache=False).logits.float()
        found.append(F.cross_entropy(logits.mT, texts[:, places + 1]).item())
    return " ".join(f"{loss:.2f}" for loss in found)


@torch.no_grad()
def copied(model, texts, depth, size=8):  # hidden in each text, and asked for at its end
    texts, at = texts.clone(), int(depth * (texts.size(1) - 2 * size))
    free = torch.zeros(len(texts), int(texts.max()) + 1, device=texts.device)  # b vocab
    free[:, texts.unique()] = 1.0
    free.scatter_(1, texts, 0.0)  # tokens of the other texts that do not occur in this one
    assert free.sum(1).min() >= size, "more rows: too few tokens that a text does not have"
    texts[:, at : at + size] = texts[:, -size:] = hidden = torch.multinomial(free, size)  # b size
    logits = model(texts, logits_to_keep=size, use_cache=False).logits[:, :-1]  # b size-1 vocab
    found = logits.argmax(-1) == hidden[:, 1:]  # b size-1
    return f"{found.float().mean().item():.2f}"


# in place of your model and your texts: the shipped model as a GPT-NeoX, and texts for it
torch.manual_seed(0)
sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 1, "vocab_size": 32}
sizes |= {"intermediate_size": 1, "max_position_embeddings": 32}
rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}
config = GPTNeoXConfig(
    **sizes, rope_parameters=rope, use_parallel_residual=False, attention_bias=False
)
model, ours = GPTNeoXForCausalLM(config), load_model()
inner = model.gpt_neox
inner.embed_in, inner.final_layer_norm, model.lm_head = ours.token_embedding, ours.norm, ours.output
for layer, block in zip(inner.layers, ours.blocks, strict=True):
    attend, layer.input_layernorm = block.attention, block.attention_norm
    parts = [part.weight for part in (attend.q_proj, attend.k_proj, attend.v_proj)]
    layer.attention.query_key_value.weight = torch.nn.Parameter(torch.cat(parts))
    layer.attention.dense = attend.out_proj
    torch.nn.init.zeros_(layer.mlp.dense_4h_to_h.weight)  # it has no MLP
period = torch.randint(3, 17, (128, 1))
texts = torch.randint(32, (128, 16)).gather(1, torch.arange(257) % period)  # b n

yarn = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 32}
with tempfile.TemporaryDirectory() as name:  # yours: name = "owner/model"
    model.save_pretrained(name)
    for rule in ({}, yarn):
        tested = load(name, rule)
        print("loss over 256 tokens:", losses(tested, texts))
        for length in (32, 256):
            depths = (copied(tested, texts[:, :length], depth / 4) for depth in range(5))
            print(f"copied at {length} tokens, by depth:", *depths)
#> loss over 256 tokens: 1.22 0.16 0.52 1.22 1.40 1.55 1.54 1.65
#> copied at 32 tokens, by depth: 0.91 0.99 1.00 1.00 0.99
#> copied at 256 tokens, by depth: 0.03 0.00 0.00 0.00 0.00
#> loss over 256 tokens: 1.40 0.26 0.26 0.29 0.33 0.41 0.55 0.63
#> copied at 32 tokens, by depth: 1.00 0.96 0.95 0.88 0.82
#> copied at 256 tokens, by depth: 0.18 0.20 0.79 0.12 0.00
