query, key = (3, 1), (2, 1)  # of "chased", of "cat"


def add(vector, position):
    return (vector[0] + position, vector[1])


def rotate(vector, position):  # a quarter turn for each position
    for _ in range(position):
        vector = (-vector[1], vector[0])
    return vector


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1]


for way in (add, rotate):
    for cat, chased in ((1, 2), (2, 3), (3, 1)):
        score = dot(way(query, chased), way(key, cat))
        print(f"{way.__name__:6}  cat {cat}, chased {chased}: {score:2}")
#> add     cat 1, chased 2: 16
#> add     cat 2, chased 3: 25
#> add     cat 3, chased 1: 21
#> rotate  cat 1, chased 2:  1
#> rotate  cat 2, chased 3:  1
#> rotate  cat 3, chased 1: -7
