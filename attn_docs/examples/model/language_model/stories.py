import math
import textwrap

from attn_docs.model.language_model import least_nats, tell_stories, text_of

for story in tell_stories(3, seed=5):
    print(textwrap.fill(text_of(story), 90, subsequent_indent="  "))
#> max has a white fox and tom has a brown dog. the fox sleeps in the hay. it dreams of
#>   geese. max feeds the white fox.
#> eva has a black cow and zoe has a grey dog. the cow rests in the barn. it dreams of grass.
#>   eva calls the black cow.
#> max has a grey owl and ben has a red cat. the owl rests under a tree. it dreams of stars.
#>   max sees the grey owl.
print(f"{math.exp(least_nats()):,.0f} stories, {least_nats():.2f} nats")
#> 6,048,000 stories, 15.62 nats
