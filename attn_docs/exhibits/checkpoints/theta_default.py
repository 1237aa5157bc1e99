"""Bug: the base of the rotary angles is looked for where older files had it."""

from attn_docs import decoder_from_config


def load(config, weights):
    theta = config.get("rope_theta", 10000.0)  # wrong: config["rope_parameters"]["rope_theta"]
    rope = {"rope_type": "default", "rope_theta": theta}
    model = decoder_from_config(config | {"rope_parameters": rope})
    model.load_state_dict(weights)
    return model.eval()
