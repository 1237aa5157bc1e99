import torch

from attn_docs import attention_weights

# columns: determiner, noun, verb
query = torch.tensor(
    [
        [0.0, 1.0, 0.0],  # "the" looks for a noun
        [0.0, 0.0, 1.0],  # "cat" looks for a verb
        [0.0, 1.0, 1.0],  # "sleeps" looks for a noun and a verb
    ]
)
key = torch.tensor(
    [
        [1.0, 0.0, 0.0],  # "the" is a determiner
        [0.0, 1.0, 0.0],  # "cat" is a noun
        [0.0, 0.0, 1.0],  # "sleeps" is a verb
    ]
)

print(query @ key.T)  # a row for each word that asks, a column for each that answers
#> tensor([[0., 1., 0.],
#>         [0., 0., 1.],
#>         [0., 1., 1.]])
print(attention_weights(query, key))
#> tensor([[0.2645, 0.4711, 0.2645],
#>         [0.2645, 0.2645, 0.4711],
#>         [0.2192, 0.3904, 0.3904]])
