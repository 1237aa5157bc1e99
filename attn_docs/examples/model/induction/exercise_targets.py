from attn_docs.model.induction import decode, encode, induction_targets

tokens = encode("abcabdab")
targets = induction_targets(tokens)[0, -1]  # of the last token
print((targets.nonzero().flatten() + 1).tolist(), decode(tokens[0, targets]))
#> [3, 6] cd
