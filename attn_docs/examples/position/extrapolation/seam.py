import torch

from attn_docs.position.extrapolation import KINDS, build_model, recall_tokens

torch.manual_seed(0)
tokens = recall_tokens(2, torch.Generator().manual_seed(0)).tokens  # b n
real = torch.ones(2, 34, dtype=torch.bool)  # b m: no padding, but for
real[:, :2] = False  # two tokens on the left
padded = torch.cat((torch.zeros(2, 2, dtype=torch.long), tokens), dim=1)

with torch.no_grad():
    for kind in KINDS:
        model = build_model(kind).eval()
        if model.position_bias is not None and kind == "t5":  # else all distances are alike
            torch.nn.init.normal_(model.position_bias.relative_attention_bias.weight)
        whole = model(tokens)  # b n 40
        caches, chunks = model.new_caches(2, capacity=32), tokens.split([9, 1, 15, 7], dim=1)
        cached = torch.cat([model(chunk, caches=caches) for chunk in chunks], dim=1)
        left = model(padded, key_padding_mask=real)[:, 2:]
        same = (torch.allclose(found, whole, atol=1e-5) for found in (cached, left))
        print(f"{kind:10} in four chunks: {next(same)}, padded on the left: {next(same)}")
#> none       in four chunks: True, padded on the left: True
#> learned    in four chunks: True, padded on the left: True
#> sinusoidal in four chunks: True, padded on the left: True
#> rotary     in four chunks: True, padded on the left: True
#> alibi      in four chunks: True, padded on the left: True
#> t5         in four chunks: True, padded on the left: True
