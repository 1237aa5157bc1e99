flops = 1979e12  # an H100 SXM, by its data sheet: "BFLOAT16 Tensor Core"
bandwidth = 3.35e12  # "GPU Memory Bandwidth"
print(f"memory-bound below {flops / bandwidth:.0f} FLOP for each byte")
#> memory-bound below 591 FLOP for each byte
