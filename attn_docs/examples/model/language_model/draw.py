from attn_docs.model.language_model import continue_text, trained_model

model, prompt = trained_model(), "mia has a black owl and ann"
for options in (
    {},  # the likeliest character, always
    {"temperature": 1.0},  # logits as they are
    {"temperature": 2.0},  # logits halved: bolder, and wrong sooner
    {"temperature": 2.0, "top_k": 2},  # as bold, but of the two likeliest only
):
    written = continue_text(model, prompt, **options)[len(prompt) :]
    print("…" + written.strip("\n")[:90])
#> … has a black cat. the cat sleeps in the hay. it dreams of milk. ann sees the black cat.
#> … has a brown dog. the owl sleeps in the barn. it dreams of moths. ann feeds the brown owl.
#> … has a brown do the fo. napsepsen the hay. bln dreamepicon. ann.epeses un tahe leowl.
#> … has a brown cat. the cat sleeps in the barn. it dreeams of mice. ann feeds the brown cobe
