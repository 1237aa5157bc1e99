# pip install transformers
import torch
import transformers


def keys_by_layer(model, tokens):  # how many keys the last token sees, layer by layer
    kernel = getattr(model.config, "_attn_implementation", None)
    assert kernel in ("eager", "sdpa"), f"{kernel} gets its window otherwise: load with sdpa"
    counts = []

    def look(_module, _args, options):
        mask = options["attention_mask"]  # none under sdpa: the token itself and all before it
        row = torch.ones(tokens.size(1), dtype=torch.bool) if mask is None else mask[0, 0, -1]
        counts.append(int((row if row.dtype == torch.bool else row == 0).sum()))

    found = [x.self_attn for x in model.get_decoder().layers if hasattr(x, "self_attn")]
    hooks = [x.register_forward_pre_hook(look, with_kwargs=True) for x in found]
    with torch.no_grad():
        _ = model.get_decoder()(tokens)  # longer than the window, no padding
    for hook in hooks:
        hook.remove()
    return counts


sizes = {"hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 50}
others = {"num_hidden_layers": 6, "intermediate_size": 32, "bos_token_id": 1, "eos_token_id": 2}
tokens = torch.randint(3, 50, (1, 40))
for name in ("Gemma2", "Gemma3Text", "Olmo3", "Cohere2", "Mistral", "Qwen3"):
    config = getattr(transformers, f"{name}Config")(**sizes, **others, pad_token_id=0)
    config.sliding_window = 8
    model = transformers.AutoModelForCausalLM.from_config(config).eval()  # here: your model
    print(f"{name:10}", *(f"{keys:3}" for keys in keys_by_layer(model, tokens)))
#> Gemma2       8  40   8  40   8  40
#> Gemma3Text   8   8   8   8   8  40
#> Olmo3        8   8   8  40   8   8
#> Cohere2      8   8   8  40   8   8
#> Mistral      8   8   8   8   8   8
#> Qwen3       40  40  40  40  40  40
