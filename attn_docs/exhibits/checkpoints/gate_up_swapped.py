"""Bug: the matrix of the gate is loaded as the one that is gated."""

from attn_docs import decoder_from_config

NAMES = {"w1": "up_proj", "w2": "down_proj", "w3": "gate_proj"}  # wrong: w1 is the gate, w3 is up


def load(config, weights):
    for theirs, ours in NAMES.items():
        weights = {name.replace(theirs, ours): weight for name, weight in weights.items()}
    model = decoder_from_config(config)
    model.load_state_dict(weights)
    return model.eval()
