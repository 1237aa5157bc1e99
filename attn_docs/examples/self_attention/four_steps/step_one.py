from torch.nn.functional import pad

from attn_docs import SelfAttention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

w_q, w_k, w_v = projections(sharpness=6.0)  # 8 3, 8 3, 8 4
w_q, w_k = pad(w_q, (0, 1)), pad(w_k, (0, 1))  # 8 4: a column of zeros adds nothing to a score

attend = SelfAttention(input_dim=8, output_dim=4, scale=3**-0.5).requires_grad_(False)
for layer, matrix in ((attend.q_proj, w_q), (attend.k_proj, w_k), (attend.v_proj, w_v)):
    layer.weight.copy_(matrix.T)  # nn.Linear keeps its matrix as (out, in)
    layer.bias.zero_()

output = attend(embeddings()[None])  # b n 4
print(labelled(output[0], WORDS, MEANINGS))
#>         definite    animal    asleep  dreaming
#> the         0.03      0.89      0.03      0.03
#> cat         0.01      0.01      0.48      0.48
#> sleeps      0.01      0.33      0.33      0.33
#> it          0.03      0.89      0.03      0.03
#> dreams      0.01      0.33      0.33      0.33
