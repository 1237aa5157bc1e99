import torch

from attn_docs.testing import check_attention


def attend(query, key, value):
    """Attend to the keys in three parts, with one output and one LSE kept."""
    output, lse = 0.0, torch.tensor(-torch.inf)
    parts = zip(key.tensor_split(3, -2), value.tensor_split(3, -2), strict=True)
    for part, its_value in parts:
        scores = query @ part.mT / query.size(-1) ** 0.5  # b h n m/3
        new = torch.logaddexp(lse, scores.logsumexp(-1))  # b h n
        kept = torch.exp(lse - new).unsqueeze(-1)  # what the parts before weigh now
        # exp(scores - new) are the part's own shares of everything seen so far
        output = kept * output + (scores - new.unsqueeze(-1)).exp() @ its_value  # b h n e
        lse = new
    return output


print(check_attention(attend).verdict)
#> passed
