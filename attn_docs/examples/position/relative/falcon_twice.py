# pip install transformers
import torch
from transformers.models.falcon import modeling_falcon as falcon

sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
text, build = torch.arange(12)[None], falcon.build_alibi_tensor


def run(path, factor):
    torch.manual_seed(0)  # the same weights each time
    falcon.build_alibi_tensor = lambda *arguments, **named: factor * build(*arguments, **named)
    config = falcon.FalconConfig(**sizes, alibi=True, attn_implementation=path)
    with torch.no_grad():
        return falcon.FalconModel(config).eval()(text).last_hidden_state


print("eager is sdpa:             ", torch.allclose(run("eager", 1), run("sdpa", 1), atol=1e-4))
#> eager is sdpa:              False
print("eager is sdpa, bias doubled:", torch.allclose(run("eager", 1), run("sdpa", 2), atol=1e-4))
#> eager is sdpa, bias doubled: True
falcon.build_alibi_tensor = build
