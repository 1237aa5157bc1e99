import torch
import torch.nn.functional as F

from attn_docs import causal_mask
from attn_docs.sentence import MEANINGS, embeddings, labelled, projections

x = embeddings()[:4]  # the cat sleeps it: "it" is new, three words are cached
query, key, value = (x @ w for w in projections(sharpness=6.0))
new = query[3:]  # 1 d

attend = F.scaled_dot_product_attention
outputs = [
    attend(new, key, value, is_causal=True),  # wrong: upper left
    attend(new, key, value, causal_mask(1, 4, offset=3)),  # lower right
    attend(query, key, value, is_causal=True)[3:],  # the whole sentence at once
]
print(labelled(torch.cat(outputs), ["upper left", "lower right", "at once"], MEANINGS))
#>              definite    animal    asleep  dreaming
#> upper left       1.00      0.00      0.00      0.00
#> lower right      0.03      0.91      0.03      0.00
#> at once          0.03      0.91      0.03      0.00
