"""Bug: what is beyond a learned table begins again at its first row."""


def look_up(table, positions):
    return table[positions % len(table)]  # wrong: table[positions]
