import torch
import torch.nn.functional as F

from attn_docs.sentence import FEATURES, embeddings

x = embeddings()[:4]  # m D: the cat sleeps it
kind, meaning = x.clone(), x.clone()
kind[:, 4:], meaning[:, :4] = 0, 0  # the first four features say which kind of word it is
key = torch.stack([x[:, :4], x[:, 4:]])[None]  # b g m d: found by kind, found by meaning
value = torch.stack([meaning, kind])[None]  # b g m e: gives the meaning, gives the kind

query = torch.zeros(1, 4, 1, 4)  # b h n d: "it" looks for four things
for head, sought in enumerate(("noun", "verb", "animal", "asleep")):
    query[0, head, 0, FEATURES.index(sought) % 4] = 12.0

for way in ("repeat_interleave", "repeat"):
    read = getattr(torch.arange(2), way)(2)  # the KV head that each query head reads
    output = F.scaled_dot_product_attention(query, key[:, read], value[:, read])
    found = [FEATURES[j] for j in output[0, :, 0].argmax(dim=-1)]
    print(f"{way:17} reads {read.tolist()} and finds {found}")
#> repeat_interleave reads [0, 0, 1, 1] and finds ['animal', 'asleep', 'noun', 'verb']
#> repeat            reads [0, 1, 0, 1] and finds ['animal', 'verb', 'animal', 'verb']
