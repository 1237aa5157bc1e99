import torch
import torch.nn.functional as F

scores = torch.tensor([-1.0, 0.0, 2.0])
nearer = torch.tensor([-1.0, 1.0, 2.0])  # the second key fits better

print(scores / scores.sum())  # not shares: one is negative
#> tensor([-1.,  0.,  2.])
print(F.one_hot(scores.argmax(), 3), F.one_hot(nearer.argmax(), 3))  # the best key alone
#> tensor([0, 0, 1]) tensor([0, 0, 1])
print(torch.softmax(scores, dim=0), torch.softmax(nearer, dim=0))  # each share moves
#> tensor([0.0420, 0.1142, 0.8438]) tensor([0.0351, 0.2595, 0.7054])
print(torch.softmax(scores + 100, dim=0))  # only differences count
#> tensor([0.0420, 0.1142, 0.8438])
