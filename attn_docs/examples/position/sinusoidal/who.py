# pip install transformers
import torch
from transformers.models.ctrl.modeling_ctrl import positional_encoding
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.musicgen.modeling_musicgen import MusicgenSinusoidalPositionalEmbedding
from transformers.models.speecht5.modeling_speecht5 import SpeechT5ScaledPositionalEncoding
from transformers.models.whisper.modeling_whisper import sinusoids
from transformers.models.xglm.modeling_xglm import XGLMSinusoidalPositionalEmbedding
from transformers.models.xlm.modeling_xlm import create_sinusoidal_embeddings

N, D = 50, 64
tables = {
    "XLM": create_sinusoidal_embeddings(N, D, torch.empty(N, D)),
    "SpeechT5 (text)": SpeechT5ScaledPositionalEncoding(0.0, D).pe[0, :N],
    "Marian": MarianSinusoidalPositionalEmbedding(N, D).create_weight(),
    "CTRL": positional_encoding(N, D, torch.float32),
    "Whisper (encoder)": sinusoids(N, D),
    "M2M100": M2M100SinusoidalPositionalEmbedding.get_embedding(N, D),
    "XGLM": XGLMSinusoidalPositionalEmbedding.get_embedding(N, D),
    "MusicGen": MusicgenSinusoidalPositionalEmbedding.get_embedding(N, D),
}


def table(layout, steps):  # the last frequency is 1 / 10000 ** ((D / 2 - 1) / steps)
    angle = torch.arange(N)[:, None] * 10000 ** -(torch.arange(D // 2) / steps)
    sin, cos = angle.sin(), angle.cos()
    if layout == "sin cos sin cos …":
        return torch.stack((sin, cos), dim=-1).flatten(-2)
    return torch.cat((sin, cos) if layout == "sin sin … cos cos …" else (cos, sin), dim=-1)


found = {}
for name, theirs in tables.items():
    for layout in ("sin cos sin cos …", "sin sin … cos cos …", "cos cos … sin sin …"):
        for steps in (D // 2, D // 2 - 1):
            if torch.allclose(theirs, table(layout, steps), atol=1e-4):
                found[name] = layout, "D/2" if steps == D // 2 else "D/2 - 1"
    print(f"{name:18} {found[name][0]:21}  {found[name][1]}")
#> XLM                sin cos sin cos …      D/2
#> SpeechT5 (text)    sin cos sin cos …      D/2
#> Marian             sin sin … cos cos …    D/2
#> CTRL               sin sin … cos cos …    D/2
#> Whisper (encoder)  sin sin … cos cos …    D/2 - 1
#> M2M100             sin sin … cos cos …    D/2 - 1
#> XGLM               sin sin … cos cos …    D/2 - 1
#> MusicGen           cos cos … sin sin …    D/2 - 1
