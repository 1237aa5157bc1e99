"""Bug: a learned table is read from its first row, though positions begin two rows later."""


def look_up(table, positions):  # OPT's and BART's table has max_length + 2 rows
    return table[positions]  # wrong: table[positions + 2]
