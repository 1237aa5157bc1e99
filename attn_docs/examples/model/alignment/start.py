from unittest.mock import patch

from attn_docs.model.alignment import EXAMINED, draw_lines, load_translator, to_indices, to_texts

model = load_translator()
texts, dates = zip(*draw_lines(1000, EXAMINED, unseen=True, before=0, after=16), strict=True)
short = [text.rsplit(" ", 14)[0] for text in texts]  # two words after the date
read = {words: to_indices(lines) for words, lines in ((16, texts), (2, short))}
found = {words: model.encode(source) for words, source in read.items()}
for seen, begun in ((16, 16), (2, 16), (16, 2), (2, 2)):
    with patch.object(model, "encode", return_value=(found[seen][0], found[begun][1])):
        written = to_texts(model(read[seen])[0].argmax(-1))
    right = sum(map(str.__eq__, written, dates)) / len(dates)
    print(f"looks at states of {seen:2} words, starts after {begun:2}: {right:.1%} right")
#> looks at states of 16 words, starts after 16: 81.4% right
#> looks at states of  2 words, starts after 16: 84.8% right
#> looks at states of 16 words, starts after  2: 97.3% right
#> looks at states of  2 words, starts after  2: 100.0% right
