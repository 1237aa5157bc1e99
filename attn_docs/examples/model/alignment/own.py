from attn_docs.model.alignment import load_translator

TEXT = "14th of july 2021"  # type your own, in small letters

written, weights = load_translator().align(TEXT)  # 10 characters, 10 n
print(" ", TEXT)
#>   14th of july 2021
for character, row in zip(written, weights.tolist(), strict=True):
    tenths = (str(min(round(10 * weight), 9)) for weight in row)
    print(character, "".join(tenths).replace("0", "·"))
#> 2 ···············91
#> 0 1·············54·
#> 2 ···············9·
#> 1 ···············19
#> - 1·············116
#> 0 ··········71·1···
#> 7 ··········82·····
#> - ·1········1··2322
#> 1 9················
#> 4 ·9···············
