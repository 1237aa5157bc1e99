import torch

from attn_docs import sinusoidal
from attn_docs.sentence import WORDS, labelled

hands = ("sin 1", "cos 1", "sin .1", "cos .1", "sin .01", "cos .01", "sin .001", "cos .001")
place = sinusoidal(torch.arange(5), 8)
print(labelled(place, WORDS, hands))
#>            sin 1     cos 1    sin .1    cos .1   sin .01   cos .01  sin .001  cos .001
#> the         0.00      1.00      0.00      1.00      0.00      1.00      0.00      1.00
#> cat         0.84      0.54      0.10      1.00      0.01      1.00      0.00      1.00
#> sleeps      0.91     -0.42      0.20      0.98      0.02      1.00      0.00      1.00
#> it          0.14     -0.99      0.30      0.96      0.03      1.00      0.00      1.00
#> dreams     -0.76     -0.65      0.39      0.92      0.04      1.00      0.00      1.00
