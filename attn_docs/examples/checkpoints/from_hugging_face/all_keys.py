# pip install transformers
import torch
from transformers import AutoConfig, AutoModel

from attn_docs import GroupedQueryAttention, RotaryEmbedding

torch.manual_seed(0)
torch.set_grad_enabled(False)
llama3 = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0}
llama3 |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
families = {  # what each config.json says besides the sizes
    "Llama 3": ("llama", {}),
    "Llama 3.1": ("llama", {"rope_parameters": llama3}),
    "Mistral": ("mistral", {"sliding_window": 20}),
    "Gemma 2": ("gemma2", {"query_pre_attn_scalar": 18}),
    "Granite": ("granite", {"attention_multiplier": 1 / 16}),
    "Cohere": ("cohere", {}),
}
sizes = {"hidden_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
sizes |= {"num_hidden_layers": 1, "vocab_size": 50, "max_position_embeddings": 131072}
sizes |= dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"))
tokens, mask, seen = torch.randint(50, (1, 24)), torch.ones(1, 24, dtype=torch.long), {}

found = {}
for name, (kind, options) in families.items():
    config = AutoConfig.for_model(kind, **sizes, **options)
    model = AutoModel.from_config(config, attn_implementation="eager").eval()
    theirs = model.layers[0].self_attn
    for weight in theirs.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    theirs.register_forward_hook(  # keeps what the layer gets, and what it returns
        lambda *call: seen.update(x=call[2]["hidden_states"], output=call[3][0]), with_kwargs=True
    )

    ours = GroupedQueryAttention(96, 4, 2, head_dim=16, bias=False, rotary=RotaryEmbedding(16))
    state = {key.replace("o_proj", "out_proj"): w for key, w in theirs.state_dict().items()}
    said = ours.load_state_dict(state)
    off = []
    for apart in (1, 500):  # 24 tokens side by side; then far apart, as in a long text
        positions = apart * torch.arange(24)
        model(tokens, attention_mask=mask, position_ids=positions[None])
        difference = ours(seen["x"], positions=positions, is_causal=True) - seen["output"]
        off.append((difference.norm() / seen["output"].norm()).item())
    found[name] = (said, *off)
    print(f"{name:9} {said}  off by {off[0]:.4f}, in a long text {off[1]:.4f}")
#> Llama 3   <All keys matched successfully>  off by 0.0000, in a long text 0.0000
#> Llama 3.1 <All keys matched successfully>  off by 0.0035, in a long text 0.7061
#> Mistral   <All keys matched successfully>  off by 0.1371, in a long text 0.1052
#> Gemma 2   <All keys matched successfully>  off by 0.0286, in a long text 0.0272
#> Granite   <All keys matched successfully>  off by 0.9531, in a long text 0.9751
#> Cohere    <All keys matched successfully>  off by 0.8247, in a long text 1.0989
