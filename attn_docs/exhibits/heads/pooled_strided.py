"""Bug: heads of different groups are pooled: every g-th one, not neighbours."""


def pool(weight, groups, head_dim):  # h·d D
    heads = weight.view(-1, head_dim, weight.size(-1))  # h d D
    grouped = heads.view(-1, groups, *heads.shape[1:])  # wrong: view(groups, -1, …), and mean(1)
    return grouped.mean(0).flatten(0, 1)  # g·d D
