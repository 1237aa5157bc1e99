from attn_docs.model.language_model import continue_text, trained_model

model, prompt = trained_model(), "mia has a"
for options in (
    {},  # the likeliest character, always
    {"temperature": 1.0},  # logits as they are
    {"temperature": 2.0},  # logits halved: bolder, and wrong sooner
    {"temperature": 2.0, "top_k": 3},  # the same among the three likeliest
):
    print(continue_text(model, prompt, **options), end="")
