# pip install transformers
import torch
from transformers.models.xlm.modeling_xlm import create_sinusoidal_embeddings

from attn_docs import sinusoidal

positions = torch.arange(300)
theirs = create_sinusoidal_embeddings(300, 48, torch.empty(300, 48))
print("XLM:", torch.allclose(sinusoidal(positions, 48), theirs, atol=1e-4))
#> XLM: True

# a pair is one complex number: its imaginary part the sine, its real part the cosine
omega = 10000 ** -(torch.arange(24).double() / 24)  # D/2
one_step = torch.polar(torch.ones(24).double(), omega)  # D/2
wanted = torch.view_as_real(one_step ** positions[:, None]).flip(-1).flatten(-2)  # n D
ours = sinusoidal(positions.double(), 48)
print("complex numbers:", torch.allclose(ours, wanted, rtol=0, atol=1e-10))
#> complex numbers: True
