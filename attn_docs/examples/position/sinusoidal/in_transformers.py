# pip install transformers
import torch
from transformers import GPT2Config, GPT2Model, OPTConfig, OPTModel

torch.manual_seed(0)
torch.set_grad_enabled(False)
NO_ENDS = {"bos_token_id": None, "eos_token_id": None}
SIZES = {"hidden_size": 16, "word_embed_proj_dim": 16, "num_attention_heads": 2, "ffn_dim": 16}
models = {
    "GPT-2": GPT2Model(GPT2Config(vocab_size=20, n_embd=16, n_layer=2, n_head=2, **NO_ENDS)),
    "OPT": OPTModel(OPTConfig(vocab_size=20, num_hidden_layers=2, **SIZES, **NO_ENDS)),
}
text = torch.randint(2, 20, (1, 6))
padded = torch.cat((torch.ones(1, 3).long(), text), dim=1)  # three tokens of padding
mask = (torch.arange(9) >= 3).long()[None]  # b n
counted = (mask.cumsum(1) - 1).clamp(min=0)

for name, model in models.items():
    model.eval()
    alone = model(text).last_hidden_state
    for way, options in {"": {}, "position_ids": {"position_ids": counted}}.items():
        found = model(padded, attention_mask=mask, **options).last_hidden_state[:, 3:]
        print(f"{name:5} {way:12} {torch.allclose(found, alone, atol=1e-5)}")
#> GPT-2              False
#> GPT-2 position_ids True
#> OPT                True
#> OPT   position_ids True
