"""Bug: the induction score counts tokens that have not occurred before."""


def score(weights, targets):  # b n n each
    hit = (weights * targets).sum(-1)  # b n
    return hit.mean()  # wrong: hit[targets.any(-1)].mean()
