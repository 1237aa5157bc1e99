# pip install transformers
import torch
from transformers import AutoConfig, AutoModel

from attn_docs import RotaryEmbedding, from_transformers
from attn_docs.exhibits.checkpoints import (
    biases_dropped,
    fused_by_kind,
    gain_without_one,
    scale_of_head_dim,
)

torch.set_grad_enabled(False)
sizes = {"hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
sizes |= {"num_hidden_layers": 1, "vocab_size": 50, "bos_token_id": None, "eos_token_id": None}
x = torch.randn(2, 60, 48, generator=torch.manual_seed(0))


def fused(theirs, ours):
    parts = fused_by_kind.split(theirs.query_key_value.weight, 6)
    for projection, weight in zip((ours.q_proj, ours.k_proj, ours.v_proj), parts, strict=True):
        projection.weight.copy_(weight)
    return ours(x, is_causal=True)


def biases(theirs, _):
    state = {name.replace("o_proj", "out_proj"): w for name, w in theirs.state_dict().items()}
    return biases_dropped.load(state, 48, 6, 2, RotaryEmbedding(8))(x, is_causal=True)


def gain(theirs, ours):
    for name in ("q_norm", "k_norm"):
        norm = getattr(theirs, name)
        setattr(ours, name, gain_without_one.norm(norm.weight, norm.eps))
    return ours(x, is_causal=True)


def scale(theirs, ours):
    ours.scale = scale_of_head_dim.scale(vars(theirs.config))
    return ours(x, is_causal=True)


off = {}
gemma3, gemma2 = {"query_pre_attn_scalar": 8}, {"query_pre_attn_scalar": 9}
for kind, options, wrong in (
    ("gpt_neox", {}, fused),
    ("qwen2", {}, biases),
    ("gemma3_text", gemma3, gain),
    ("gemma2", gemma2, scale),
):
    model = AutoModel.from_config(AutoConfig.for_model(kind, **sizes, **options))
    theirs = getattr(model.layers[0], "self_attn", None) or model.layers[0].attention
    torch.manual_seed(1)
    for weight in theirs.parameters():
        torch.nn.init.normal_(weight, std=0.4)  # all of them: norms and biases too
    right = from_transformers(theirs)(x, is_causal=True)
    found = wrong(theirs, from_transformers(theirs))
    off[wrong.__name__] = ((found - right).norm() / right.norm()).item()
    print(f"{wrong.__name__:6} off by {off[wrong.__name__]:.2f}")
#> fused  off by 1.39
#> biases off by 0.37
#> gain   off by 0.56
#> scale  off by 0.02
