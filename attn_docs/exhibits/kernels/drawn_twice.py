"""Bug: a document that was drawn twice has one id, so its second copy reads the first."""

from attn_docs import causal_mask, document_mask


def mask(drawn, lengths):  # which document of the data stands at each place, and its length
    ids = drawn.repeat_interleave(lengths)  # wrong: the number in the data, not the place
    return document_mask(ids) & causal_mask(len(ids))
