import torch

from attn_docs import attention_weights
from attn_docs.sentence import embeddings, projections

x = embeddings()
_, w_k, w_v = projections()
w_q = torch.zeros(8, 3, requires_grad=True)  # nobody looks for anything
it, cat = 3, 1
optimizer = torch.optim.SGD([w_q], lr=5.0)

for step in range(101):
    weights = attention_weights(x @ w_q, x @ w_k)
    output = weights @ (x @ w_v)
    loss = (output[it] - x[cat, 4:]).square().sum()  # "it" should mean what "cat" means
    if step % 50 == 0:
        query = [round(number, 1) for number in (x @ w_q)[it].tolist()]
        print(f"step {step:3}: query {query}, takes {weights[it, cat]:.2f} of 'cat'")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
#> step   0: query [0.0, 0.0, 0.0], takes 0.20 of 'cat'
#> step  50: query [-1.7, 6.0, -2.5], takes 0.95 of 'cat'
#> step 100: query [-1.8, 6.6, -2.6], takes 0.96 of 'cat'
