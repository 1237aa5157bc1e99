query, key = (3, 1), (2, 1)  # of "sleeps", of "cat"


def add(vector, position):
    return (vector[0] + position, vector[1])


def turn(vector, position):  # a quarter turn for each position
    for _ in range(position):
        vector = (-vector[1], vector[0])
    return vector


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1]


for way in (add, turn):
    for cat, sleeps in ((1, 2), (2, 3), (2, 1)):
        score = dot(way(query, sleeps), way(key, cat))
        print(f"{way.__name__:4}  cat {cat}, sleeps {sleeps}: {score:2}")
#> add   cat 1, sleeps 2: 16
#> add   cat 2, sleeps 3: 25
#> add   cat 2, sleeps 1: 17
#> turn  cat 1, sleeps 2:  1
#> turn  cat 2, sleeps 3:  1
#> turn  cat 2, sleeps 1: -1
