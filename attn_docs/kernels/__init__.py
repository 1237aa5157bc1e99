"""The same numbers by other work: softmax in blocks, attention in tiles, merging, kernels, packing."""
