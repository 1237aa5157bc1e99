import random


def first_fit_decreasing(lengths, room):
    rows = []
    for length in sorted(lengths, reverse=True):
        for row in rows:
            if sum(row) + length <= room:
                row.append(length)
                break
        else:  # no row has room for it
            rows.append([length])
    return rows


random.seed(0)
rows = first_fit_decreasing([random.randint(20, 500) for _ in range(12)], room=1024)
for row in rows:
    print(row, "free:", 1024 - sum(row))
#> [490, 475, 40] free: 19
#> [452, 421] free: 151
#> [408, 281, 268] free: 67
#> [235, 227, 217, 152] free: 193
