from attn_docs import ProportionalScaling, rotary_frequencies

print(rotary_frequencies(16, 10000.0, ProportionalScaling(0.25)))  # of a head of 16
#> (tensor([1.0000, 0.3162, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000]), 1.0)
print(rotary_frequencies(4, 10000.0))  # with rotary_dim=4
#> (tensor([1.0000, 0.0100]), 1.0)
