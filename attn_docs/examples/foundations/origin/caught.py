import torch

from attn_docs.exhibits.foundations import batch_first_forgotten, last_state_of_padding

torch.manual_seed(0)
encoder = batch_first_forgotten.make_encoder(4, 6)
words = torch.randn(3, 5, 4)  # b n D
changed = words.clone()
changed[0] += 1  # another first sentence
states, after = (batch_first_forgotten.encode(encoder, w) for w in (words, changed))
print(tuple(states.shape), "others stay:", torch.equal(states[1:], after[1:]))
#> (3, 5, 6) others stay: False

states = torch.randn(3, 5, 6)
padded = states.clone()
padded[0, 2:] = 0  # the first sentence has two words
lengths = torch.tensor([2, 5, 4])
vectors = (last_state_of_padding.sentence_vector(s, lengths) for s in (states, padded))
print("padding changes nothing:", torch.equal(*vectors))
#> padding changes nothing: False
