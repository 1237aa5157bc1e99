"""The running sentence: its pencil numbers, and what attention must bring out of it."""

import pytest
import torch

from attn_docs import attention_weights, scaled_dot_product_attention
from attn_docs.sentence import FEATURES, KINDS, MEANINGS, WORDS, embeddings, labelled, projections


def test_each_word_has_a_kind_and_all_but_the_pronoun_a_meaning():
    x = embeddings()
    assert x.shape == (len(WORDS), len(FEATURES))
    assert x[:, : len(KINDS)].sum(-1).tolist() == [1, 1, 1, 1, 1]
    assert x[:, len(KINDS) :].sum(-1).tolist() == [1, 1, 1, 0, 1]
    assert len(set(map(tuple, x.tolist()))) == len(WORDS)


def test_the_first_three_words_have_the_pencil_numbers():
    x = embeddings()[:3]
    w_q, w_k, _ = projections()
    query, key = x @ w_q, x @ w_k
    assert (query @ key.T).tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 1]]
    expected = [[0.2645, 0.4711, 0.2645], [0.2645, 0.2645, 0.4711], [0.2192, 0.3904, 0.3904]]
    weights = attention_weights(query, key)
    torch.testing.assert_close(weights, torch.tensor(expected), atol=5e-5, rtol=0)


@pytest.mark.parametrize("sharpness", [1.0, 6.0])
def test_it_takes_animal_from_cat(sharpness):
    x = embeddings()
    w_q, w_k, w_v = projections(sharpness)
    weights = attention_weights(x @ w_q, x @ w_k)[WORDS.index("it")]
    assert weights.argmax() == WORDS.index("cat")
    output = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)[WORDS.index("it")]
    assert output.argmax() == MEANINGS.index("animal")
    assert output[MEANINGS.index("animal")] == pytest.approx(weights[WORDS.index("cat")].item())
    assert (output.max() > 0.8) == (sharpness > 1)


def test_labels_stand_above_and_before_their_numbers():
    text = labelled(torch.tensor([[1.0, 2.5], [-3.25, 40]]), ["a", "word"], ["x", "longer"], 1)
    assert text.splitlines() == [
        "           x  longer",
        "a        1.0     2.5",
        "word    -3.2    40.0",
    ]


@pytest.mark.parametrize("shape", [(2, 1), (1, 2), (2,), (1, 2, 2)])
def test_labels_that_do_not_fit_are_refused(shape):
    with pytest.raises(ValueError, match=r"numbers must have shape .* \(2, 2\); got"):
        labelled(torch.zeros(shape), ["a", "b"], ["c", "d"])
