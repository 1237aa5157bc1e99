from unittest.mock import patch

from attn_docs.model.alignment import load_translator, to_indices, to_texts

model = load_translator()
source, other = to_indices(["tuesday, sep 23 1997"]), to_indices(["tuesday, dec 23 1997"])
states, last = model.encode(source)  # 1 n d, 1 d
other_states, other_last = model.encode(other)
month = states.clone()
month[:, 9:13] = other_states[:, 9:13]  # after "d", "e", "c" and the space
for name, given in {
    "as it is": (states, last),
    "states of the month from “dec”": (month, last),
    "last state from the line with “dec”": (states, other_last),
}.items():
    with patch.object(model, "encode", return_value=given):  # encode returns `given`
        print(*to_texts(model(source)[0].argmax(-1)), name)
#> 1997-09-23 as it is
#> 1997-12-23 states of the month from “dec”
#> 1997-09-23 last state from the line with “dec”
