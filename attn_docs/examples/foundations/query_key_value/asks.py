from attn_docs.sentence import FEATURES, embeddings, labelled, projections

w_q, _, _ = projections()  # 8 features in, 3 kinds of word out
print(labelled(w_q, FEATURES, ["determiner", "noun", "verb"], digits=0))
#>             determiner        noun        verb
#> determiner           0           1           0
#> noun                 0           0           1
#> verb                 0           1           1
#> pronoun              0           1           0
#> definite             0           0           0
#> animal               0           0           0
#> asleep               0           0           0
#> dreaming             0           0           0
print((embeddings()[3] @ w_q).tolist())  # "it": the row "pronoun" and nothing else
#> [0.0, 1.0, 0.0]
