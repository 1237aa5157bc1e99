import torch
import torch.nn.functional as F

from attn_docs import document_ids, document_positions

lengths = [3, 2]
tokens = torch.tensor([11, 12, 13, 21, 22])  # two documents, one row
ids, positions = document_ids(lengths), document_positions(lengths)

targets = torch.full_like(tokens, -100)  # targets[i] is what should come after tokens[i]
inside = ids[1:] == ids[:-1]  # the next token of the row belongs to the same document
targets[:-1][inside] = tokens[1:][inside]
print(targets.tolist())
#> [12, 13, -100, 22, -100]

labels = tokens.clone()  # Hugging Face models shift by themselves, so labels[i] is tokens[i]
labels[positions == 0] = -100  # and nobody can predict the first token of a document
print(labels.tolist())
#> [-100, 12, 13, -100, 22]

logits = torch.randn(5, 30)  # n, size of the vocabulary
losses = F.cross_entropy(logits, targets), F.cross_entropy(logits[:-1], labels[1:])
print(torch.allclose(*losses))
#> True
