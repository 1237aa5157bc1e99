flops, bandwidth = 1979e12, 3.35e12  # an H100 SXM: "BFLOAT16 Tensor Core", "GPU Memory Bandwidth"
print(f"memory-bound below {flops / bandwidth:.0f} FLOP for each byte")
#> memory-bound below 591 FLOP for each byte
