"""TODO: the idea in 25 lines at most, shapes at their ends; last, compare with the package's."""

from attn_docs import from_hugging_face

print(from_hugging_face.__name__)
#> from_hugging_face
