from attn_docs.model.language_model import continue_text, trained_model

model = trained_model()
for prompt in ("Mia has", "", "mia " * 40):
    try:
        continue_text(model, prompt)
    except ValueError as error:
        print(error)
#> text must be made of a to z, space, full stop and newline; got 'M'
#> prompt must have 1 to 128 characters; got 0
#> prompt must have 1 to 128 characters; got 160
