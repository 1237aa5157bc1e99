from attn_docs.exhibits.foundations import swapped_roles
from attn_docs.testing import check_attention

for finding in check_attention(swapped_roles.attention).failures:
    print(f"{finding.property}: {finding.cause}")
#> oracle: query and key are swapped: row i of the scores belongs to key i
#> permutation: something depends on where a key or query stands
#> cross-attention: the length of the queries is used for the keys
