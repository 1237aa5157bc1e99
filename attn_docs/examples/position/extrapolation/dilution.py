from attn_docs.position.extrapolation import diluted

lead = 6.38  # how far the right key's score stands above all others
for keys in (32, 64, 128, 256):
    plain, sharper = diluted(lead, keys), diluted(lead, keys, trained=32)
    print(f"{keys:3} keys: {plain:.2f}, sharpened {sharper:.2f}")
#>  32 keys: 0.95, sharpened 0.95
#>  64 keys: 0.90, sharpened 0.97
#> 128 keys: 0.82, sharpened 0.98
#> 256 keys: 0.70, sharpened 0.99
