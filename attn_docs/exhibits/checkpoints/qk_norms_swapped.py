"""Bug: queries are normalised with the weights that belong to the keys, and keys with theirs."""

from attn_docs import decoder_from_config

NAMES = {"query_norm": "k_norm", "key_norm": "q_norm"}  # wrong: query is q, key is k


def load(config, weights):
    for theirs, ours in NAMES.items():
        weights = {name.replace(theirs, ours): weight for name, weight in weights.items()}
    model = decoder_from_config(config)
    model.load_state_dict(weights)
    return model.eval()
