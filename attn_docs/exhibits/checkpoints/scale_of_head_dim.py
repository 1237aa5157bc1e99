"""Bug: scores are divided by the root of the head size, where the config names another number."""


def scale(config):
    """Return the factor on the scores of Gemma 2."""
    return config["head_dim"] ** -0.5  # wrong: config["query_pre_attn_scalar"] ** -0.5
