from attn_docs import attention_weights
from attn_docs.sentence import embeddings, projections


def attention(x, matrices):
    query = x @ matrices[0]
    key = x @ matrices[1]
    value = x @ matrices[1]
    return attention_weights(query, key) @ value


w_q, w_k, w_v = projections(sharpness=6.0)
output = attention(embeddings(), (w_q, w_k, w_v[:, :3]))  # definite, animal, asleep
print([round(number, 2) for number in output[3].tolist()])  # "it"
#> [0.03, 0.89, 0.06]
