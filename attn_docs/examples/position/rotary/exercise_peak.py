def dot(a, b):
    return a[0] * b[0] + a[1] * b[1]


def rotate(vector, position):  # a quarter turn for each position
    for _ in range(position):
        vector = (-vector[1], vector[0])
    return vector


query, key = (3, 1), (-1, 3)  # the key is the query, rotated by one position
print([dot(rotate(query, 5), rotate(key, 5 - distance)) for distance in range(5)])
#> [0, 10, 0, -10, 0]
