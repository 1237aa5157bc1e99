import math

total = sum(1 / word for word in range(1, 16))
shares = [1 / word / total for word in range(1, 16)]
entropy = -sum(share * math.log(share) for share in shares)
for words in (4, 5):
    print(f"{words} words over and over: {(words - 1) * entropy / 9:.2f}")
#> 4 words over and over: 0.77
#> 5 words over and over: 1.03
