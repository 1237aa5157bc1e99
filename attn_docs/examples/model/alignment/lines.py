from attn_docs.model.alignment import draw_lines

for text, iso in draw_lines(6, seed=1):
    print(f"{iso}  {text}")
#> 1974-02-09  visit snow 9th of february 1974
#> 2038-11-23  meet tuesday, nov 23 2038
#> 1966-11-04  rain friday, nov 4 1966 home
#> 1950-05-19  meet snow may 19, 1950 train train
#> 1955-06-28  28 june 1955 pay train
#> 1988-11-12  snow 12/11/1988
