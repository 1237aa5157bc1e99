from unittest.mock import patch

from attn_docs.model.alignment import (
    EXAMINED,
    MONTHS,
    draw_lines,
    load_translator,
    to_indices,
    to_texts,
)

model, names = load_translator(), [month[:3] for month in MONTHS]
texts, dates, others, wanted, places = [], [], [], [], []
for text, iso in draw_lines(1000, EXAMINED, unseen=True):
    month = int(iso[5:7]) - 1
    place = text.find(f", {names[month]} ") + 2  # only one format writes a month like this
    if place > 1:
        other = (month + 6) % 12  # half a year away
        texts, dates, places = [*texts, text], [*dates, iso], [*places, place]
        others.append(text[:place] + names[other] + text[place + 3 :])
        wanted.append(f"{iso[:5]}{other + 1:02}{iso[7:]}")
source, (other_states, other_last) = to_indices(texts), model.encode(to_indices(others))
states, last = model.encode(source)  # lines n d, lines d
months = states.clone()
for line, place in enumerate(places):
    months[line, place : place + 4] = other_states[line, place : place + 4]
counts = {}
for name, given in {"month's states": (months, last), "last state": (states, other_last)}.items():
    with patch.object(model, "encode", return_value=given):
        written = to_texts(model(source)[0].argmax(-1))
    counts[name] = [sum(map(str.__eq__, written, right)) for right in (dates, wanted)]
    print(f"{name} exchanged in {len(texts)} lines: own date {counts[name][0]}, ", end="")
    print(f"with the other month {counts[name][1]}")
#> month's states exchanged in 164 lines: own date 0, with the other month 164
#> last state exchanged in 164 lines: own date 164, with the other month 0
