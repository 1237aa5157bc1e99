# pip install transformers
import torch
from transformers import AutoModelForCausalLM, GptOssConfig, LlamaConfig, MixtralConfig


@torch.no_grad()
def leaks(model, rows=1, **options):  # does the second document notice what the first one is?
    def second(tokens):
        torch.manual_seed(1)  # the same dropout in both calls
        return model(tokens, **options).logits[:, 4:]

    size = model.get_input_embeddings().num_embeddings
    tokens = torch.randint(size, (rows, 9), device=model.device)  # documents of 4 and of 5
    other = tokens.clone()
    other[:, :4] = (other[:, :4] + 1) % size
    before, after = second(tokens), second(other)
    return not torch.allclose(before, after, rtol=0, atol=1e-5 * before.abs().max().item())


sizes = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
for each in (LlamaConfig, MixtralConfig, GptOssConfig):
    torch.manual_seed(0)
    config = each(num_hidden_layers=2, num_key_value_heads=2, vocab_size=50, **sizes)
    model = AutoModelForCausalLM.from_config(config).eval()
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]], device=model.device)
    call = {"position_ids": positions}
    print(config.model_type, leaks(model, **call), leaks(model, **call, use_cache=False))
#> llama True False
#> mixtral True False
#> gpt_oss True True
