import torch

scores = torch.tensor([2.0, 4.0, 4.0, 6.0])
mean = scores.mean()
variance = (scores - mean).square().mean()
print(mean, variance, variance.sqrt())
#> tensor(4.) tensor(2.) tensor(1.4142)

ten_times = 10 * scores
print(ten_times.var(correction=0), ten_times.std(correction=0))
#> tensor(200.) tensor(14.1421)
