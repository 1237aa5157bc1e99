from attn_docs.model.alignment import draw_lines, load_translator

lines = draw_lines(6, seed=18, unseen=True)
texts = [text for text, _ in lines]
looking_back = load_translator().translate(texts)
last_state = load_translator(attends=False).translate(texts)
print("attention   last state  line")
#> attention   last state  line
for text, one, other in zip(texts, looking_back, last_state, strict=True):
    print(f"{one}  {other}  {text}")
#> 1985-07-08  1985-07-08  home july 8, 1985 call
#> 1985-03-10  1985-03-09  visit 10 march 1985 pay
#> 2038-07-30  2038-07-03  30.7.38 call
#> 2011-07-02  2017-02-17  call 2.7.11 pay
#> 1978-10-03  1978-03-11  october 3, 1978 home meet
#> 1965-11-30  1965-03-10  tea november 30, 1965 rain
