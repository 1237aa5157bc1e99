import torch

from attn_docs import attention_weights
from attn_docs.sentence import embeddings, projections

x = embeddings()
w_q, w_k, w_v = projections()  # sharpness 1
it, cat = 3, 1
w_q.requires_grad_()
optimizer = torch.optim.Adam([w_q], lr=0.1)

for step in range(101):
    weights = attention_weights(x @ w_q, x @ w_k)
    output = weights @ (x @ w_v)
    loss = (output[it] - x[cat, 4:]).square().sum()  # "it" should mean what "cat" means
    if step % 50 == 0:
        query = [f"{number:.1f}" for number in (x @ w_q)[it]]
        print(f"step {step:3}: query {query}, takes {weights[it, cat]:.2f} of 'cat'")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
#> step   0: query ['0.0', '1.0', '0.0'], takes 0.31 of 'cat'
#> step  50: query ['-2.9', '4.3', '-2.9'], takes 0.88 of 'cat'
#> step 100: query ['-3.3', '5.0', '-3.3'], takes 0.93 of 'cat'
