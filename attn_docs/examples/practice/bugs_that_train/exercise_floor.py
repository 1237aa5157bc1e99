import math

total = sum(1 / token for token in range(1, 16))
shares = [1 / token / total for token in range(1, 16)]
entropy = -sum(share * math.log(share) for share in shares)
for tokens in (4, 5):
    print(f"{tokens} tokens over and over: {(tokens - 1) * entropy / 9:.2f}")
#> 4 tokens over and over: 0.77
#> 5 tokens over and over: 1.03
