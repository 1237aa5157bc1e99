from attn_docs.sentence import FEATURES, WORDS, embeddings

x = embeddings()  # 5 words, 8 features
print(x.shape, x.dtype)
#> torch.Size([5, 8]) torch.float32

print(FEATURES)
#> ('determiner', 'noun', 'verb', 'pronoun', 'definite', 'animal', 'asleep', 'dreaming')

print(WORDS[1], x[1])  # one row
#> cat tensor([0., 1., 0., 0., 0., 1., 0., 0.])
print("animal", x[:, 5])  # one column
#> animal tensor([0., 1., 0., 0., 0.])
print(x[1:3].shape, x.sum(dim=0).shape, x.sum(dim=1).shape)
#> torch.Size([2, 8]) torch.Size([8]) torch.Size([5])
