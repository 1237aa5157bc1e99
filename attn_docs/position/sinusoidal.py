import torch
def sinusoidal(positions, dim, *, base=10000.0):
    pair = torch.arange(0, dim, 2).float()
    angles = positions.float().unsqueeze(-1) / base ** (pair / dim)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
