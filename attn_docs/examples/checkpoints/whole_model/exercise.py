import torch
import torch.nn.functional as F

from attn_docs import apply_rotary, decoder_from_config


def mistral(weights, tokens, config):
    """Return the logits of a Mistral: here still those of a Qwen3 with other defaults."""
    d, eps, theta = config["head_dim"], 1e-6, 1000000.0
    place = torch.arange(tokens.size(1))
    seen = place[:, None] >= place  # n n
    x = weights["token_embedding.weight"][tokens]  # b n c
    for layer in range(config["num_hidden_layers"]):
        own = {name: weight for name, weight in weights.items() if f"blocks.{layer}." in name}
        w = {name.split(".")[-2]: weight for name, weight in own.items()}
        y = F.rms_norm(x, x.shape[-1:], w["attention_norm"], eps)  # b n c
        q, k, v = (F.linear(y, w[f"{p}_proj"]).unflatten(2, (-1, d)) for p in "qkv")  # b n h d
        q, k = (F.rms_norm(each, (d,), None, eps).transpose(1, 2) for each in (q, k))  # b h n d
        q, k = (apply_rotary(each, place, theta=theta) for each in (q, k))
        v = v.transpose(1, 2)  # b g n d
        y = F.scaled_dot_product_attention(q, k, v, seen, enable_gqa=True)  # b h n d
        x = x + F.linear(y.transpose(1, 2).flatten(2), w["out_proj"])  # b n c
        y = F.rms_norm(x, x.shape[-1:], w["mlp_norm"], eps)  # b n c
        hidden = F.silu(F.linear(y, w["gate_proj"])) * F.linear(y, w["up_proj"])
        x = x + F.linear(hidden, w["down_proj"])  # b n c
    x = F.rms_norm(x, x.shape[-1:], weights["norm.weight"], eps)
    return F.linear(x, weights["output.weight"])  # b n vocab


config = {"model_type": "mistral", "vocab_size": 61, "hidden_size": 48, "intermediate_size": 80}
config |= {"num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2}
config |= {"head_dim": 12, "rms_norm_eps": 1e-2, "rope_theta": 10000.0, "sliding_window": 5}
torch.manual_seed(0)
model, tokens = decoder_from_config(config), torch.randint(61, (2, 20))
for weight in model.parameters():
    torch.nn.init.normal_(weight, std=0.3)
found = mistral(model.state_dict(), tokens, config)
print("passed" if torch.allclose(found, model(tokens), rtol=1e-3, atol=1e-3) else "failed")
#> failed
