"""Bug: the heads of a group are summed, not averaged."""


def pool(weight, groups, head_dim):  # h·d D
    heads = weight.view(groups, -1, head_dim, weight.size(-1))  # g h/g d D
    return heads.sum(1).flatten(0, 1)  # wrong: heads.mean(1)
