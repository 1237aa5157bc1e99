# pip install transformers
import torch
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2Model,
    OPTConfig,
    OPTModel,
    RobertaConfig,
    RobertaModel,
)

TINY = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
NO_ENDS = {"bos_token_id": None, "eos_token_id": None}
OPT = {"hidden_size": 8, "word_embed_proj_dim": 8, "num_attention_heads": 1, "ffn_dim": 8}
models = {
    "GPT-2": GPT2Model(GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=1, **NO_ENDS)),
    "BERT": BertModel(BertConfig(vocab_size=9, **TINY)),
    "RoBERTa": RobertaModel(RobertaConfig(vocab_size=9, **TINY)),
    "OPT": OPTModel(OPTConfig(vocab_size=9, num_hidden_layers=1, **OPT)),
}


def takes(model, length):
    try:
        model(torch.full((1, length), 5))
    except (IndexError, RuntimeError) as error:
        return type(error).__name__
    return True


found = {}
with torch.no_grad():
    for name, model in models.items():
        configured, longest = model.config.max_position_embeddings, 1
        while takes(model, longest * 2) is True:
            longest *= 2
        for step in (2**i for i in range(longest.bit_length() - 1, -1, -1)):
            longest += step if takes(model, longest + step) is True else 0
        found[name] = configured, longest
        print(f"{name:8} configured {configured}, takes {longest}, then", takes(model, longest + 1))
#> GPT-2    configured 1024, takes 1024, then IndexError
#> BERT     configured 512, takes 512, then RuntimeError
#> RoBERTa  configured 512, takes 510, then RuntimeError
#> OPT      configured 2048, takes 2048, then IndexError
