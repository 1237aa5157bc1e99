import torch

latent = torch.tensor([[1, 0], [1, 2], [3, 1]])  # the, cat, sleeps
up_key = torch.tensor([[1, 0], [1, 1]])  # W_UK of head 1
query = torch.tensor([1, 1])  # of "sleeps", at position 2
quarter = torch.tensor([[0, -1], [1, 0]])  # R_1: a position turns by 90°


def turn(position):
    return torch.linalg.matrix_power(quarter, position)


turned = turn(2) @ query
for position, word in enumerate(["the", "cat", "sleeps"]):
    score = turned @ (turn(position) @ up_key @ latent[position])
    absorbed = up_key.T @ turn(2 - position) @ query
    print(f"{word}: score {score.item()}, absorbed query {absorbed.tolist()},", end=" ")
    print(f"its score {(absorbed @ latent[position]).item()}")
#> the: score -2, absorbed query [-2, -1], its score -2
#> cat: score 2, absorbed query [0, 1], its score 2
#> sleeps: score 7, absorbed query [2, 1], its score 7
print("one absorbed query for all:", (latent @ up_key.T @ query).tolist())
#> one absorbed query for all: [2, 4, 7]
