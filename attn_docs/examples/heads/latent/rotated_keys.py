import torch

c = torch.tensor([[1, 0], [1, 2], [3, 1]])  # the, cat, sleeps
w_uk = torch.tensor([[1, 1], [0, 1]])  # of head 1
query = torch.tensor([1, 1])  # of "sleeps", at position 2
quarter = torch.tensor([[0, 1], [-1, 0]])  # a vector times this is rotated by 90°


def rotation(positions):
    return torch.linalg.matrix_power(quarter, positions)


rotated_query = query @ rotation(2)
for position, token in enumerate(["the", "cat", "sleeps"]):
    score = rotated_query @ (c[position] @ w_uk @ rotation(position))
    absorbed = query @ rotation(2 - position) @ w_uk.T
    print(f"{token}: score {score.item()}, absorbed query {absorbed.tolist()},", end=" ")
    print(f"its score {(absorbed @ c[position]).item()}")
#> the: score -2, absorbed query [-2, -1], its score -2
#> cat: score 2, absorbed query [0, 1], its score 2
#> sleeps: score 7, absorbed query [2, 1], its score 7
