# pip install transformers
import torch
from transformers import SmolLM3Config, SmolLM3ForCausalLM

torch.manual_seed(0)
torch.set_grad_enabled(False)
ORDER = [3, 0, 5, 1, 6, 2, 4, 7]  # the last token stays the last


def moved(attend, size):  # attend: b n size -> b n size, one causal layer
    x = torch.randn(1, 8, size)
    before, after = (attend(tokens)[:, -1] for tokens in (x, x[:, ORDER]))
    return ((after - before).abs().max() / before.abs().max()).item()


sizes = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4, "vocab_size": 9}
ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
config = SmolLM3Config(**sizes, **ends, num_key_value_heads=2, num_hidden_layers=8)
model = SmolLM3ForCausalLM(config).model  # yours: from_pretrained(…, dtype=torch.float32)
given = {
    "position_embeddings": model.rotary_emb(torch.zeros(1), torch.arange(8)[None]),
    "attention_mask": torch.full((8, 8), -torch.inf).triu(1)[None, None],  # 1 1 n n
}
for number, layer in enumerate(model.layers):
    share = moved(lambda x, a=layer.self_attn: a(x, **given)[0], config.hidden_size)
    print(number, config.no_rope_layers[number], f"{share:.4f}")
#> 0 1 0.0038
#> 1 1 0.0091
#> 2 1 0.0046
#> 3 0 0.0000
#> 4 1 0.0216
#> 5 1 0.0041
#> 6 1 0.0054
#> 7 0 0.0000
