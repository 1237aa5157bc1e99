import torch


def fits(function, *tensors):
    try:
        return tuple(function(*tensors).shape)
    except RuntimeError:
        return "does not fit"


torch.manual_seed(0)
for rows, columns, d in ((4, 6, 3), (4, 4, 3), (4, 3, 3)):  # B_r queries, B_c keys
    q, d_out, output = torch.randn(3, rows, d)
    d_scores, d_weights = torch.randn(2, rows, columns)
    products = d_out * output
    print(f"B_r = {rows}, B_c = {columns}, d = {d}")
    print("  dK = dSᵀ Q    ", fits(torch.matmul, d_scores.T, q))
    print("  D of shape B_r", fits(torch.sub, d_weights, products.sum(1, keepdim=True)))
    print("  dK = Q dSᵀ    ", fits(torch.matmul, q, d_scores.T))  # as printed
    print("  D of shape d  ", fits(torch.sub, d_weights, products.sum(0, keepdim=True)))
#> B_r = 4, B_c = 6, d = 3
#>   dK = dSᵀ Q     (6, 3)
#>   D of shape B_r (4, 6)
#>   dK = Q dSᵀ     does not fit
#>   D of shape d   does not fit
#> B_r = 4, B_c = 4, d = 3
#>   dK = dSᵀ Q     (4, 3)
#>   D of shape B_r (4, 4)
#>   dK = Q dSᵀ     does not fit
#>   D of shape d   does not fit
#> B_r = 4, B_c = 3, d = 3
#>   dK = dSᵀ Q     (3, 3)
#>   D of shape B_r (4, 3)
#>   dK = Q dSᵀ     (4, 4)
#>   D of shape d   (4, 3)
