import math

from attn_docs.model.language_model import least_nats, tell_stories, text_of

for story in tell_stories(3, seed=5):
    print(text_of(story), end="")
print(f"{math.exp(least_nats()):,.0f} stories, {least_nats():.2f} nats")
