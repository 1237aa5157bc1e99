# pip install transformers
import torch
from transformers import DataCollatorWithFlattening, LlamaConfig, LlamaForCausalLM

documents = [{"input_ids": [11, 12, 13, 14]}, {"input_ids": [21, 22, 23, 24, 25]}]
collate = DataCollatorWithFlattening()
batch = collate(documents)  # one row, no attention_mask
for name, rows in batch.items():
    print(f"{name:12}", rows[0].tolist())
#> input_ids    [11, 12, 13, 14, 21, 22, 23, 24, 25]
#> labels       [-100, 12, 13, 14, -100, 22, 23, 24, 25]
#> position_ids [0, 1, 2, 3, 0, 1, 2, 3, 4]

torch.manual_seed(0)
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
model = LlamaForCausalLM(LlamaConfig(vocab_size=50, num_hidden_layers=2, **sizes))  # sdpa
loss = model(**batch, use_cache=False).loss
loss.backward()

first, second = (model(**collate([one]), use_cache=False).loss for one in documents)
print(torch.allclose(loss, (3 * first + 4 * second) / 7))  # 3 and 4 tokens are predicted
#> True
