import torch

from attn_docs import MaskedSelfAttention, causal_mask, padding_mask
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

w_q, w_k, w_v = projections(sharpness=6.0)
zero = torch.zeros(8, 1)
matrices = {"q": torch.cat([w_q, zero], 1), "k": torch.cat([w_k, zero], 1), "v": w_v}
attend = MaskedSelfAttention(input_dim=8, output_dim=4, dropout=0.1, scale=3**-0.5)
attend.load_state_dict(
    {f"{name}_proj.weight": matrix.T for name, matrix in matrices.items()}
    | {f"{name}_proj.bias": torch.zeros(4) for name in matrices}
)
attend.eval().requires_grad_(False)  # in eval nothing is dropped

x = embeddings().repeat(2, 1, 1)  # b n 8: the sentence twice
print(labelled(attend(x, causal_mask(5))[0], WORDS, MEANINGS))  # n n: one mask for all texts
#>         definite    animal    asleep  dreaming
#> the         1.00      0.00      0.00      0.00
#> cat         0.50      0.50      0.00      0.00
#> sleeps      0.02      0.49      0.49      0.00
#> it          0.03      0.91      0.03      0.00
#> dreams      0.01      0.33      0.33      0.33
padding = padding_mask([5, 3])[:, None]  # b 1 n: the second text ends after "sleeps"
print(labelled(attend(x, padding)[1], WORDS, MEANINGS))
#>         definite    animal    asleep  dreaming
#> the         0.03      0.94      0.03      0.00
#> cat         0.03      0.03      0.94      0.00
#> sleeps      0.02      0.49      0.49      0.00
#> it          0.03      0.94      0.03      0.00
#> dreams      0.02      0.49      0.49      0.00
