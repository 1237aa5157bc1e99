from attn_docs.exhibits.model import padding_looked_at, taught_ahead
from attn_docs.model.alignment import load_translator, to_indices

model = load_translator()
short, both = to_indices(["23.9.87"]), to_indices(["23.9.87", "tea 23rd of september 1987"])
date, dates, others = (to_indices([f"1987-09-2{d}"] * k) for d, k in ((3, 1), (3, 2), (9, 2)))


def right(model, source, target):
    return model(source, target)[0]


for teach in (right, taught_ahead.teach, padding_looked_at.teach):
    logits = teach(model, both, dates)  # b 10 characters
    blind = logits[:, -1].allclose(teach(model, both, others)[:, -1], atol=1e-4)
    alone = logits[:1].allclose(teach(model, short, date), atol=1e-4)
    print(f"cannot see what to write: {blind}; alone as in the batch: {alone}")
#> cannot see what to write: True; alone as in the batch: True
#> cannot see what to write: False; alone as in the batch: True
#> cannot see what to write: True; alone as in the batch: False
