import torch

from attn_docs import t5_bucket

back = -torch.arange(200)  # keys that came before: distance = key position − query position
buckets = t5_bucket(back, bidirectional=False)
for bucket in (0, 1, 15, 16, 17, 24, 30, 31):
    held = (-back[buckets == bucket]).tolist()
    print(f"bucket {bucket:2}: {held[0]} to {held[-1]} tokens back")
#> bucket  0: 0 to 0 tokens back
#> bucket  1: 1 to 1 tokens back
#> bucket 15: 15 to 15 tokens back
#> bucket 16: 16 to 18 tokens back
#> bucket 17: 19 to 20 tokens back
#> bucket 24: 46 to 51 tokens back
#> bucket 30: 99 to 112 tokens back
#> bucket 31: 113 to 199 tokens back
both = t5_bucket(torch.tensor([-1, 0, 1]), bidirectional=True)
print("an encoder's, one back, itself, one ahead:", both.tolist())
#> an encoder's, one back, itself, one ahead: [1, 0, 17]
