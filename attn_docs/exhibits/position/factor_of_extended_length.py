"""Bug: the factor is taken from a length that a rule had already extended."""

from attn_docs import YaRNScaling


def rule_for(length, trained, extended):
    factor = length / extended  # wrong: length / trained
    return YaRNScaling(max(factor, 1.0), original_length=trained)
