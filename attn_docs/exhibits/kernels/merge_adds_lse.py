"""Bug: log-sum-exps are added: that is the logarithm of a product, not of a sum."""


def merge(outputs, lses):  # for each part … n e and … n
    (output, lse), *others = zip(outputs, lses, strict=True)
    for other, its_lse in others:
        both = lse + its_lse  # wrong: log a + log b is log(ab)
        before, after = (lse - both).exp(), (its_lse - both).exp()
        output = before.unsqueeze(-1) * output + after.unsqueeze(-1) * other
        lse = both
    return output, lse
