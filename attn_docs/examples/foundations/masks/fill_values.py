import torch

mask = torch.tensor([True, True, False])
for dtype in (torch.float16, torch.bfloat16):
    scores = torch.zeros(3, dtype=dtype)
    lowest = torch.finfo(dtype).min
    for name, fill in (("-inf", -torch.inf), ("-1e9", -1e9), ("-1e20", -1e20), ("lowest", lowest)):
        try:
            print(dtype, name, torch.softmax(scores.masked_fill(~mask, fill), dim=-1).tolist())
        except RuntimeError as error:
            print(dtype, name, "refused:", type(error).__name__)
#> torch.float16 -inf [0.5, 0.5, 0.0]
#> torch.float16 -1e9 refused: RuntimeError
#> torch.float16 -1e20 refused: RuntimeError
#> torch.float16 lowest [0.5, 0.5, 0.0]
#> torch.bfloat16 -inf [0.5, 0.5, 0.0]
#> torch.bfloat16 -1e9 [0.5, 0.5, 0.0]
#> torch.bfloat16 -1e20 [0.5, 0.5, 0.0]
#> torch.bfloat16 lowest [0.5, 0.5, 0.0]
