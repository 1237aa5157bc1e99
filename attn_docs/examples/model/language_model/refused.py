from attn_docs.model.language_model import continue_text, trained_model

model = trained_model()
for prompt in ("Mia has", "", "mia " * 40):
    try:
        continue_text(model, prompt)
    except ValueError as error:
        print(error)
