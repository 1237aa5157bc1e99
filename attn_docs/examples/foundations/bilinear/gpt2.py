# pip install transformers
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2Model


def qk_factors(model, layer, head):
    """Return the factors (D + 1, d) of a head, for normalised inputs with a 1 behind them."""
    block, size = model.h[layer], model.config.n_embd // model.config.n_head
    norm, joint = block.ln_1, block.attn.c_attn  # q, k and v in one; weight (D, 3 D), no transpose
    weights = norm.weight[:, None] * joint.weight  # fold the gain in
    shift = norm.bias @ joint.weight + joint.bias  # and the biases, as one more row
    w_q, w_k, _ = torch.cat([weights, shift[None]]).chunk(3, dim=-1)
    columns = slice(size * head, size * (head + 1))
    return w_q[:, columns], w_k[:, columns]


torch.manual_seed(0)
model = GPT2Model(GPT2Config(n_embd=32, n_head=4, n_layer=2, attn_implementation="eager")).eval()
for parameter in model.parameters():
    parameter.data += 0.3 * torch.randn_like(parameter)  # or gains were 1 and biases 0
with torch.no_grad():
    seen = model(torch.tensor([[5, 3, 9, 3]]), output_attentions=True, output_hidden_states=True)
    x = F.pad(F.layer_norm(seen.hidden_states[1], (32,)), (0, 1), value=1.0)  # b n D+1
    w_q, w_k = qk_factors(model, layer=1, head=2)
    scores = x @ (w_q @ w_k.T) @ x.mT / 8**0.5  # b n n
    weights = scores.masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf).softmax(-1)
print(torch.allclose(weights[0], seen.attentions[1][0, 2], atol=1e-5))
#> True
