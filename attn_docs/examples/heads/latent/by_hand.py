import torch

words = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 2, 1]])  # the, cat, sleeps
down = torch.tensor([[1, 0, 1, 1], [0, 1, 0, 1]])  # W_DKV, rank 2
up_key = torch.tensor([[[1, 0], [1, 1]], [[0, 1], [2, -1]]])  # W_UK of heads 1 and 2
query = torch.tensor([[1, 1], [2, 0]])  # of "sleeps", heads 1 and 2

latent = words @ down.T
print("kept:", latent.tolist())
#> kept: [[1, 0], [1, 2], [3, 1]]
for head in range(2):
    keys = latent @ up_key[head].T
    absorbed = up_key[head].T @ query[head]
    print(f"head {head + 1}: keys {keys.tolist()},", end=" ")
    print(f"scores {(keys @ query[head]).tolist()}")
    print(f"  absorbed query {absorbed.tolist()},", end=" ")
    print(f"scores {(latent @ absorbed).tolist()}")
#> head 1: keys [[1, 1], [1, 3], [3, 4]], scores [2, 4, 7]
#>   absorbed query [2, 1], scores [2, 4, 7]
#> head 2: keys [[0, 2], [2, 0], [1, 5]], scores [0, 4, 2]
#>   absorbed query [0, 2], scores [0, 4, 2]

weights, up_value = torch.tensor([0.5, 0.5, 0]), torch.tensor([[2.0, 0], [0, 3]])
latent = latent.float()
values = latent @ up_value.T
print("values, mixed:", (weights @ values).tolist())
#> values, mixed: [2.0, 3.0]
print("mixed, then unpacked:", (up_value @ (weights @ latent)).tolist())
#> mixed, then unpacked: [2.0, 3.0]
