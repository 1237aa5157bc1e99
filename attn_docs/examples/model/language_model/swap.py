from attn_docs.model.language_model import continue_text, trained_model

model = trained_model()
begin = "mia has a grey cat and tom has a red dog. the"
for sleeper in ("cat", "dog"):
    prompt = f"{begin} {sleeper}"
    print(sleeper, continue_text(model, prompt)[len(prompt) :], end="")
#> cat  sleeps in the barn. it dreams of mice. mia calls the grey cat.
#> dog  naps in the hay. it dreams of sticks. tom sees the red dog.
