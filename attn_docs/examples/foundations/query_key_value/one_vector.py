from attn_docs import attention_weights
from attn_docs.sentence import WORDS, embeddings, labelled

x = embeddings()  # one vector a word, in all three roles
print(labelled(x @ x.T, WORDS, WORDS, digits=0))
#>            the     cat  sleeps      it  dreams
#> the          2       0       0       0       0
#> cat          0       2       0       0       0
#> sleeps       0       0       2       0       1
#> it           0       0       0       1       0
#> dreams       0       0       1       0       2
print(labelled(attention_weights(x, x)[3:4], WORDS[3:4], WORDS))
#>        the     cat  sleeps      it  dreams
#> it    0.18    0.18    0.18    0.26    0.18
