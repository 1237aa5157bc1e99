import torch

tokens = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 2, 1]])  # the, cat, sleeps
w_down = torch.tensor([[1, 0], [0, 1], [1, 0], [1, 1]])
w_uk = torch.tensor([[[1, 1], [0, 1]], [[0, 2], [1, -1]]])  # of heads 1 and 2
query = torch.tensor([[1, 1], [2, 0]])  # of "sleeps", heads 1 and 2

c = tokens @ w_down
print("cached:", c.tolist())
#> cached: [[1, 0], [1, 2], [3, 1]]
for head in (0, 1):
    keys, absorbed = c @ w_uk[head], query[head] @ w_uk[head].T
    print(f"head {head + 1}: keys {keys.tolist()}, scores {(keys @ query[head]).tolist()}")
    print(f"  absorbed query {absorbed.tolist()}, scores {(c @ absorbed).tolist()}")
#> head 1: keys [[1, 1], [1, 3], [3, 4]], scores [2, 4, 7]
#>   absorbed query [2, 1], scores [2, 4, 7]
#> head 2: keys [[0, 2], [2, 0], [1, 5]], scores [0, 4, 2]
#>   absorbed query [0, 2], scores [0, 4, 2]

weights, w_uv = torch.tensor([0.5, 0.5, 0]), torch.tensor([[2.0, 0], [0, 3]])
print("values, mixed:", (weights @ (c.float() @ w_uv)).tolist())
#> values, mixed: [2.0, 3.0]
print("mixed, then up-projected:", (weights @ c.float() @ w_uv).tolist())
#> mixed, then up-projected: [2.0, 3.0]
