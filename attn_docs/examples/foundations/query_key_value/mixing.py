import torch

from attn_docs.sentence import MEANINGS, embeddings, labelled

meaning = embeddings()[:, 4:]  # the half that says what a word means
#                        the    cat  sleeps  it     dreams
shares = torch.tensor([[0.025, 0.9, 0.025, 0.025, 0.025]])

print(labelled(shares @ meaning, ["it"], MEANINGS, digits=3))
#>     definite    animal    asleep  dreaming
#> it     0.025     0.900     0.025     0.025
