from attn_docs import decoder_from_config
from attn_docs.checkpoints.tiny_qwen3 import CONFIG, tiny_qwen3
from attn_docs.exhibits.checkpoints import gate_up_swapped, qk_norms_swapped, theta_default
from attn_docs.model.language_model import continue_text, encode

model = tiny_qwen3().requires_grad_(False)
prompt = "mia has a red dog and tom has a black cat. the cat"
tokens, weights = encode("\n" + prompt)[None], model.state_dict()
story = continue_text(model, prompt)  # ... sleeps in the hay. it dreams of milk. ...


def called(names):  # the weights as a file would have them that calls some otherwise
    found = weights
    for ours, theirs in names.items():
        found = {name.replace(ours, theirs): weight for name, weight in found.items()}
    return found


mlp = called({"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"})
norms = called({"q_norm": "query_norm", "k_norm": "key_norm"})
wider = decoder_from_config(CONFIG | {"sliding_window": 17})
wider.load_state_dict(weights)
for name, loaded in {
    "gate and up swapped": gate_up_swapped.load(CONFIG, mlp),
    "default theta": theta_default.load(CONFIG, weights),
    "window of 17, not 16": wider,
    "q and k norms swapped": qk_norms_swapped.load(CONFIG, norms),
}.items():
    loaded.requires_grad_(False)
    off = (loaded(tokens) - model(tokens)).norm(dim=-1)[0] / model(tokens).norm(dim=-1)[0]
    shown = ", ".join(f"{off[place]:.3f}" for place in (0, 15, -1))
    written = continue_text(loaded, prompt)
    same = "the same story" if written == story else repr(written[len(prompt) :][:22])
    print(f"{name:21} {shown} {same}")
#> gate and up swapped   0.146, 0.515, 0.428 ' slees in ree. on . et'
#> default theta         0.000, 0.129, 0.180 ' om hen ann ann ax a a'
#> window of 17, not 16  0.000, 0.000, 0.021 ' naps in the hay. it d'
#> q and k norms swapped 0.000, 0.029, 0.006 the same story
