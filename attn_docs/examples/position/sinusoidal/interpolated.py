# pip install transformers
import torch
import torch.nn.functional as F
from transformers import ViTConfig, ViTModel

from attn_docs import sinusoidal

torch.manual_seed(0)
sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
vit = ViTModel(ViTConfig(image_size=32, patch_size=8, intermediate_size=16, **sizes))
vit.embeddings.position_embeddings.data.normal_()
table = vit.embeddings.position_embeddings.detach()  # 1 n D: one for the image, 4 × 4 for patches
theirs = vit.embeddings.interpolate_pos_encoding(torch.zeros(1, 1 + 8 * 8, 16), 64, 64)

grid = table[:, 1:].mT.unflatten(-1, (4, 4))  # 1 D rows columns
wider = F.interpolate(grid, size=(8, 8), mode="bicubic", align_corners=False)
ours = torch.cat((table[:, :1], wider.flatten(2).mT), dim=1)
print(tuple(table.shape), "to", tuple(theirs.shape), torch.allclose(theirs, ours))
#> (1, 17, 16) to (1, 65, 16) True

between = (sinusoidal(torch.tensor(3), 64) + sinusoidal(torch.tensor(4), 64)) / 2
exact = sinusoidal(torch.tensor(3.5), 64)  # a formula need not interpolate
print(round(torch.cosine_similarity(between, exact, dim=0).item(), 4))
#> 0.9997
