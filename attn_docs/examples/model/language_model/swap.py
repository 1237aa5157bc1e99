from attn_docs.model.language_model import continue_text, trained_model

model = trained_model()
begin = "mia has a grey cat and tom has a red dog. the"
for sleeper in ("cat", "dog"):
    print(continue_text(model, f"{begin} {sleeper} sleeps in the barn."), end="")
