"""Bug: the length that decides how far scores are sharpened counts padding."""

import math


def sharper(real, trained):  # b m, True where a token is not padding
    length = real.new_full((len(real),), real.size(1), dtype=int)  # wrong: real.sum(-1)
    return (length.double().log() / math.log(trained)).clamp(min=1)  # b
