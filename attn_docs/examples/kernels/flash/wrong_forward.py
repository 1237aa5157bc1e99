from attn_docs.exhibits.kernels import flash_inverse_rescale, flash_skips_diagonal
from attn_docs.testing import check_attention

print(check_attention(flash_inverse_rescale.attention).verdict)
#> failed
print(check_attention(flash_skips_diagonal.attention, is_causal=True).verdict)
#> failed
