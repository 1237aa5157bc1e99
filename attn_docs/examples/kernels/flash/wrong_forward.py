from attn_docs.exhibits.kernels import (
    flash_inverse_rescale,
    flash_not_rescaled,
    flash_skips_diagonal,
)
from attn_docs.testing import check_attention

for module in (flash_not_rescaled, flash_inverse_rescale):
    print(check_attention(module.attention).verdict)
#> failed
#> failed
print(check_attention(flash_skips_diagonal.attention, is_causal=True).verdict)
#> failed
