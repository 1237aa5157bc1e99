import torch
import torch.nn.functional as F

torch.manual_seed(0)
query, key = torch.randn(5, 3, dtype=torch.float64), torch.randn(7, 3, dtype=torch.float64)
rotation = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64)).Q
shift = torch.randn(3, dtype=torch.float64)

scores = {
    "dot product": lambda q, k: q @ k.mT,
    "cosine": lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT,
    "Gaussian": lambda q, k: -(q[:, None] - k).square().sum(-1) / 2,
    "negative L1": lambda q, k: -(q[:, None] - k).abs().sum(-1),
}
changes = [
    (query @ rotation, key @ rotation),
    (query + shift, key + shift),
    (query, key + shift),
    (query, 2 * key),
]
print("           rotate both  shift both  shift keys  double keys")
#>            rotate both  shift both  shift keys  double keys
for name, score in scores.items():
    before = score(query, key).softmax(-1)
    same = [torch.allclose(score(*change).softmax(-1), before) for change in changes]
    print(f"{name:12}", *(f"{'same' if s else 'differ':>11}" for s in same))
#> dot product         same      differ        same      differ
#> cosine              same      differ      differ        same
#> Gaussian            same        same      differ      differ
#> negative L1       differ        same      differ      differ
