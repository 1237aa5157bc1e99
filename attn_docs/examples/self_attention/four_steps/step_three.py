import torch

from attn_docs import MaskedSelfAttention, causal_mask, padding_mask, scaled_dot_product_attention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings().repeat(2, 1, 1)  # b n 8: the sentence twice
query, key, value = (x @ w for w in projections(sharpness=6.0))

output = scaled_dot_product_attention(query, key, value, causal_mask(5))  # n n: for all texts
print(labelled(output[0], WORDS, MEANINGS))
#>         definite    animal    asleep  dreaming
#> the         1.00      0.00      0.00      0.00
#> cat         0.50      0.50      0.00      0.00
#> sleeps      0.02      0.49      0.49      0.00
#> it          0.03      0.91      0.03      0.00
#> dreams      0.01      0.33      0.33      0.33
is_word = padding_mask([5, 3])  # b n: the second text ends after "sleeps"
output = scaled_dot_product_attention(query, key, value, is_word[:, None])  # b 1 n
print(labelled(output[1], WORDS, MEANINGS))
#>         definite    animal    asleep  dreaming
#> the         0.03      0.94      0.03      0.00
#> cat         0.03      0.03      0.94      0.00
#> sleeps      0.02      0.49      0.49      0.00
#> it          0.03      0.94      0.03      0.00
#> dreams      0.02      0.49      0.49      0.00
attend = MaskedSelfAttention(input_dim=8, output_dim=4).eval()
print(torch.equal(attend(x, is_word[:, None]), attend(x, key_padding_mask=is_word)))
#> True
