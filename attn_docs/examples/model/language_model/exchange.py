import torch

from attn_docs.model.language_model import (
    ALPHABET,
    DREAMS,
    HELD_OUT,
    encode,
    tell_stories,
    text_of,
    trained_model,
)

model = trained_model()


@torch.no_grad()
def read(text, block, given=None, part=slice(0)):  # likeliest next letter, and what heads found
    found = []

    def exchange(_, inputs):  # of the output projection: all heads side by side, 1 n 64
        found.append(inputs[0][0, -1].clone())
        if given is not None:
            inputs[0][0, -1, part] = given[part]

    hook = model.blocks[block].attention.out_proj.register_forward_pre_hook(exchange)
    logits = model(encode(text)[None])  # 1 n 29
    hook.remove()
    return ALPHABET[logits[0, -1].argmax()], found[0]


flipped, stories = torch.zeros(2, 4, dtype=torch.long), 0
for parts in tell_stories(100, HELD_OUT):
    told, kinds = "\n" + text_of(parts), [(part.kind, part.text) for part in parts]
    asleep = dict(kinds)["sleeper"]
    (awake,) = (text for kind, text in kinds if kind == "animal" and text != asleep)
    mine, other = ({dream[0] for dream in DREAMS[animal]} for animal in (asleep, awake))
    if not mine & other:  # the first letter says whose dream it is
        begin = told[: told.index("dreams of ") + len("dreams of ")]
        stories += 1
        for block in (0, 1):
            given = read(begin.replace(f"the {asleep}", f"the {awake}"), block)[1]
            for head in range(4):
                part = slice(16 * head, 16 * head + 16)
                flipped[block, head] += read(begin, block, given, part)[0] in other
print(f"the other animal's dream, in so many of {stories} stories, by block and head:")
#> the other animal's dream, in so many of 70 stories, by block and head:
print(flipped)
#> tensor([[ 0,  0,  0,  0],
#>         [ 0,  1, 66,  0]])
