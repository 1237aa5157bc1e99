import torch

from attn_docs.model.induction import EXAMINED, repeated_tokens

sequences, repeated = repeated_tokens(256, torch.Generator().manual_seed(EXAMINED))
right = {"any token seen": [], "token not seen for longest": [], "what followed before": []}
for tokens, known in zip(sequences.tolist(), repeated.tolist(), strict=True):
    for i in range(len(known)):
        if known[i]:  # from the second copy on
            answer = tokens[i + 1]
            last = {token: place for place, token in enumerate(tokens[: i + 1])}
            followed = [tokens[j + 1] for j in range(i) if tokens[j] == tokens[i]]
            right["any token seen"].append((answer in last) / len(last))
            right["token not seen for longest"].append(min(last, key=last.get) == answer)
            right["what followed before"].append(followed.count(answer) / len(followed))
for rule, hits in right.items():
    print(f"{rule}: {sum(hits) / len(hits):.2f}")
#> any token seen: 0.16
#> token not seen for longest: 0.85
#> what followed before: 0.90
