"""The same numbers by other work: softmax in blocks, tiles, merging, kernels, packing."""
