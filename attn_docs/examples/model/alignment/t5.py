# pip install transformers
import torch
from transformers import T5Config, T5ForConditionalGeneration

sizes = {"vocab_size": 100, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 3, "num_heads": 4}
config = T5Config(**sizes, decoder_start_token_id=0, attn_implementation="eager")
model = T5ForConditionalGeneration(config).eval()  # or .from_pretrained(…, same option)
source, target = torch.randint(1, 100, (1, 9)), torch.randint(1, 100, (1, 5))  # 1 n, 1 m
with torch.no_grad():
    output = model(source, labels=target, output_attentions=True)
maps = torch.cat(output.cross_attentions)  # layers heads m n: who writes, who is read
print(tuple(maps.shape))
#> (3, 4, 5, 9)
alignment = maps[-1].mean(0)  # m n: of the last layer, the mean of its heads
print(alignment.argmax(-1).shape, torch.allclose(alignment.sum(-1), torch.ones(5)))
#> torch.Size([5]) True
