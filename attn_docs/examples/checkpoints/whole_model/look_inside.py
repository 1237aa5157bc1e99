# pip install safetensors
import json
import struct
import tempfile
from pathlib import Path

from attn_docs.checkpoints.tiny_qwen3 import save_tiny_qwen3

folder = save_tiny_qwen3(tempfile.mkdtemp())  # or yours: folder = "Qwen3-0.6B"
with (Path(folder) / "model.safetensors").open("rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))  # 8 bytes: how long the header is
    header = json.loads(file.read(length))  # then JSON; then the numbers of all tensors

for name, told in header.items():
    if name.startswith(("model.layers.0.self_attn.", "model.embed")):
        print(f"{name.removeprefix('model.'):40} {told['dtype']} {told['shape']}")
#> embed_tokens.weight                      F32 [29, 48]
#> layers.0.self_attn.k_norm.weight         F32 [16]
#> layers.0.self_attn.k_proj.weight         F32 [32, 48]
#> layers.0.self_attn.o_proj.weight         F32 [48, 64]
#> layers.0.self_attn.q_norm.weight         F32 [16]
#> layers.0.self_attn.q_proj.weight         F32 [64, 48]
#> layers.0.self_attn.v_proj.weight         F32 [32, 48]
