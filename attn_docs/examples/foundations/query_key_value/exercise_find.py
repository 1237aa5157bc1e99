import torch

from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections


def attend(query, key, value):
    scores = key @ query.mT / query.size(-1) ** 0.5
    return torch.softmax(scores, dim=-1) @ value


x = embeddings()
output = attend(*(x @ w for w in projections(sharpness=6.0)))
print(labelled(output, WORDS, MEANINGS))
#>         definite    animal    asleep  dreaming
#> the         0.20      0.20      0.20      0.20
#> cat         0.25      0.01      0.25      0.25
#> sleeps      0.01      0.33      0.33      0.33
#> it          0.20      0.20      0.20      0.20
#> dreams      0.01      0.33      0.33      0.33
