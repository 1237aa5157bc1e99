"""Bug: the rows are pooled before they are cut into heads: neighbouring rows of one head."""


def pool(weight, groups, head_dim):  # h·d D
    rows = weight.view(groups * head_dim, -1, weight.size(-1))  # wrong: (groups, -1, head_dim, …)
    return rows.mean(1)  # g·d D
