import torch
import torch.nn.functional as F

forms = {
    "log(exp(a) + exp(b))": lambda a, b: torch.log(a.exp() + b.exp()),
    "a + log(1 + exp(b - a))": lambda a, b: a + torch.log(1 + (b - a).exp()),
    "a - logsigmoid(a - b)": lambda a, b: a - F.logsigmoid(a - b),
    "logaddexp(a, b)": torch.logaddexp,
    "logsumexp([a, b])": lambda a, b: torch.stack([a, b]).logsumexp(0),
    "a + b": torch.add,
}
a = torch.tensor([2.0, 0.0, 100.0, 0.0, -torch.inf])
b = torch.tensor([3.0, 0.0, 100.0, 100.0, 1.0])
for name, form in forms.items():
    print(f"{name:24}", "".join(f"{x:9.4f}" for x in form(a, b).tolist()))
#> log(exp(a) + exp(b))        3.3133   0.6931      inf      inf   1.0000
#> a + log(1 + exp(b - a))     3.3133   0.6931 100.6931      inf      nan
#> a - logsigmoid(a - b)       3.3133   0.6931 100.6931 100.0000      nan
#> logaddexp(a, b)             3.3133   0.6931 100.6931 100.0000   1.0000
#> logsumexp([a, b])           3.3133   0.6931 100.6931 100.0000   1.0000
#> a + b                       5.0000   0.0000 200.0000 100.0000     -inf
