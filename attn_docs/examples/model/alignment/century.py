from attn_docs.model.alignment import load_translator
from attn_docs.sentence import labelled

for text in ("16.8.49", "16.8.50"):
    iso, weights = load_translator().align(text)
    print(labelled(weights[:4], list(iso[:4]), list(text)))
#>       1     6     .     8     .     4     9
#> 2  0.00  0.00  0.00  0.03  0.00  0.94  0.03
#> 0  0.43  0.04  0.01  0.13  0.22  0.09  0.08
#> 4  0.00  0.00  0.00  0.00  0.00  0.96  0.04
#> 9  0.00  0.00  0.00  0.00  0.00  0.01  0.99
#>       1     6     .     8     .     5     0
#> 1  0.00  0.00  0.00  0.00  0.00  0.49  0.51
#> 9  0.05  0.00  0.00  0.07  0.05  0.73  0.10
#> 5  0.00  0.00  0.00  0.00  0.00  0.99  0.01
#> 0  0.00  0.00  0.00  0.00  0.00  0.00  1.00
