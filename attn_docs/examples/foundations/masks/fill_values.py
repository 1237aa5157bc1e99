import torch

mask = torch.tensor([True, True, False])
for fill in (-torch.inf, torch.finfo(torch.float16).min, -1e9, -1e20):
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        try:
            scores = torch.zeros(3, dtype=dtype).masked_fill(~mask, fill)
            print(f"{fill:g}", dtype, torch.softmax(scores, dim=-1).tolist())
        except RuntimeError as error:
            print(f"{fill:g}", dtype, "refused:", str(error).partition("cannot ")[2])
#> -inf torch.float32 [0.5, 0.5, 0.0]
#> -inf torch.bfloat16 [0.5, 0.5, 0.0]
#> -inf torch.float16 [0.5, 0.5, 0.0]
#> -65504 torch.float32 [0.5, 0.5, 0.0]
#> -65504 torch.bfloat16 [0.5, 0.5, 0.0]
#> -65504 torch.float16 [0.5, 0.5, 0.0]
#> -1e+09 torch.float32 [0.5, 0.5, 0.0]
#> -1e+09 torch.bfloat16 [0.5, 0.5, 0.0]
#> -1e+09 torch.float16 refused: be converted to type c10::Half without overflow
#> -1e+20 torch.float32 [0.5, 0.5, 0.0]
#> -1e+20 torch.bfloat16 [0.5, 0.5, 0.0]
#> -1e+20 torch.float16 refused: be converted to type c10::Half without overflow
