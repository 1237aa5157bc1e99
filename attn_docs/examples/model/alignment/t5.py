# pip install transformers
import torch
from transformers import T5Config, T5ForConditionalGeneration

sizes = {"vocab_size": 100, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 3, "num_heads": 4}
config = T5Config(**sizes, decoder_start_token_id=0, attn_implementation="eager")
model = T5ForConditionalGeneration(config).eval()  # or .from_pretrained(…, same option)
source, target = torch.randint(1, 100, (2, 9)), torch.randint(1, 100, (2, 5))  # b n, b m
with torch.no_grad():
    output = model(source, labels=target, output_attentions=True)
maps = torch.stack(output.cross_attentions)  # layers b heads m n: who writes, who is read
print(tuple(maps.shape))
#> (3, 2, 4, 5, 9)
alignment = maps[-1].mean(1)  # b m n: of the last layer, the mean of its heads
print(torch.allclose(alignment.sum(-1), torch.ones(2, 5)))
#> True

options = {"output_attentions": True, "return_dict_in_generate": True}
written = model.generate(source, max_new_tokens=5, min_new_tokens=5, **options)
steps = written.cross_attentions  # m tuples, of layers: b heads 1 n each
maps = torch.stack([torch.cat(layer, dim=2) for layer in zip(*steps, strict=True)])
print(tuple(maps.shape))
#> (3, 2, 4, 5, 9)
