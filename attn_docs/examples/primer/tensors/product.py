from attn_docs.sentence import WORDS, embeddings, labelled, projections

x = embeddings()
w_q, w_k, _ = projections()
query, key = x @ w_q, x @ w_k  # (5, 8) @ (8, 3) -> (5, 3)
scores = query @ key.transpose(-2, -1)  # (5, 3) @ (3, 5) -> (5, 5)
print(labelled(scores, WORDS, WORDS, digits=0))
#>            the     cat  sleeps      it  dreams
#> the          0       1       0       0       0
#> cat          0       0       1       0       1
#> sleeps       0       1       1       0       1
#> it           0       1       0       0       0
#> dreams       0       1       1       0       1

print((query[3] * key[1]).sum() == scores[3, 1])  # row 3, column 1: "it" and "cat"
#> tensor(True)
