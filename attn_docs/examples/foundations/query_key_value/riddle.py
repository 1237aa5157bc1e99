from attn_docs import attention_weights
from attn_docs.sentence import embeddings, projections


def attention(x, matrices):
    query = x @ matrices[0]
    key = x @ matrices[1]
    value = x @ matrices[1]
    return attention_weights(query, key) @ value


output = attention(embeddings(), projections(sharpness=6.0))
print([round(number, 2) for number in output[3].tolist()])  # "it"
#> [0.03, 0.89, 0.06]
