"""The translator of dates: its task, one step of it, its shipped weights and its bugs."""

from datetime import date

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs.model import load_weights
from attn_docs.model.alignment import (
    CHARACTERS,
    EXAMINED,
    FORMATS,
    MAX_LENGTH,
    DateTranslator,
    Line,
    accuracy,
    draw_lines,
    load_translator,
    ordinal,
    to_indices,
    to_texts,
    train_translator,
)
from tests.kit import error, load_exhibit

TEXTS = ["9.3.64", "tea march 3, 2019 rome", "wednesday, may 22 1996"]
DATES = ["1964-03-09", "2019-03-03", "1996-05-22"]
SOURCE, TARGET = to_indices(TEXTS), to_indices(DATES)


def untrained(*, attends: bool = True) -> DateTranslator:
    torch.manual_seed(0)
    return DateTranslator(12, attends=attends, embed_dim=7).double()


def test_a_day_in_each_format() -> None:
    written = [write(date(2003, 11, 2)) for write in FORMATS]
    assert written == [
        *("2 november 2003", "november 2, 2003", "2nd of november 2003"),
        *("sunday, nov 2 2003", "2/11/2003", "2.11.03"),
    ]
    endings = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th"}
    assert {number: ordinal(number) for number in endings} == endings
    assert [ordinal(number) for number in (21, 22, 23, 30)] == ["21st", "22nd", "23rd", "30th"]


def test_days_set_apart_are_in_no_training_and_words_stand_where_they_should() -> None:
    seen, unseen = (draw_lines(300, 3, unseen=apart) for apart in (False, True))
    ordinals = [
        [date.fromisoformat(line.iso).toordinal() for line in part] for part in (seen, unseen)
    ]
    assert all(number % 10 for number in ordinals[0])
    assert not any(number % 10 for number in ordinals[1])
    assert draw_lines(5, 3) == draw_lines(5, 3) != draw_lines(5, 4)
    assert max(len(line.text) for line in seen) < 60
    for line in draw_lines(20, 1, before=3, after=0):
        day = date.fromisoformat(line.iso)
        assert any(line.text.endswith(" " + write(day)) for write in FORMATS)


def test_texts_and_indices_are_each_others_inverse() -> None:
    assert SOURCE.shape == (3, 22)
    assert to_texts(SOURCE) == TEXTS
    assert to_indices([CHARACTERS]).tolist() == [list(range(1, 42))]


@pytest.mark.parametrize("attends", [True, False])
def test_steps_are_those_of_a_loop_over_lines_and_characters(attends: bool) -> None:
    model = untrained(attends=attends)
    logits, weights = model(SOURCE, TARGET)
    assert (weights is not None) is attends
    for line, (text, iso) in enumerate(zip(TEXTS, DATES, strict=True)):
        vectors = model.embedding(to_indices([text]))
        states, last = model.encoder(vectors)
        states, state = states[0], last[0, 0]
        previous = model.embedding.weight[0]
        for step, character in enumerate(iso):
            context = states[-1]
            if model.attend is not None:
                hidden = model.attend.q_proj(state) + model.attend.k_proj(states)
                looked = model.attend.score_proj(hidden.tanh())[:, 0].softmax(0)
                assert error(weights[line, step, : len(text)], looked) <= 1e-12
                assert weights[line, step, len(text) :].eq(0).all()
                context = looked @ states
            inputs = torch.cat((previous, context))
            state = model.decoder(inputs[None], state[None])[0]
            assert error(logits[line, step], model.output(state)) <= 1e-12
            previous = model.embedding.weight[CHARACTERS.index(character) + 1]


def test_without_a_target_each_step_gets_what_was_written() -> None:
    model = untrained()
    written = model(SOURCE)[0].argmax(-1)
    assert error(model(SOURCE, written)[0], model(SOURCE)[0]) <= 1e-12


def test_gradients_reach_every_parameter() -> None:
    for attends in (True, False):
        model = untrained(attends=attends)
        F.cross_entropy(model(SOURCE, TARGET)[0].flatten(0, 1), TARGET.flatten()).backward()
        assert all(parameter.grad.norm() > 0 for parameter in model.parameters())


def test_the_shipped_model_looks_at_the_year_while_it_writes_the_year() -> None:
    model = load_translator()
    lines = [line for line in draw_lines(300, EXAMINED, unseen=True) if line.iso[:4] in line.text]
    _, weights = model(to_indices([line.text for line in lines]))
    shares = [
        looked[:4, line.text.find(line.iso[:4]) :][:, :4].sum(-1).mean()
        for line, looked in zip(lines, weights, strict=True)
    ]
    assert torch.stack(shares).mean() > 0.9
    # and the day, where it is two digits at the very beginning
    days = [i for i, line in enumerate(lines) if line.text[:2] == line.iso[8:]]
    assert len(days) > 20
    assert weights[days, 8:, :2].sum(-1).mean() > 0.8


def test_shipped_models_do_as_they_did_on_days_that_no_training_saw() -> None:
    lines = draw_lines(300, EXAMINED, unseen=True)
    attending, last = (accuracy(load_translator(attends=a), lines) for a in (True, False))
    assert attending > 0.98
    assert 0.05 < last < 0.5
    turned = [Line(text[::-1], date) for text, date in lines]
    assert accuracy(load_translator(), turned, backwards=True) == attending
    with pytest.raises(ValueError, match="attention; got one made with attends=False"):
        load_translator(attends=False).align(TEXTS[0])


def test_training_lowers_the_loss_leaves_chance_alone_and_can_read_backwards() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    short = train_translator(8, steps=1, batch=4)
    model = train_translator(8, steps=25, batch=16)
    other = train_translator(8, steps=25, batch=16, before=0, after=1, backwards=True)
    assert torch.equal(before, torch.get_rng_state())
    forwards = train_translator(8, steps=25, batch=16, before=0, after=1)
    assert not torch.equal(other.embedding.weight, forwards.embedding.weight)
    losses = [
        F.cross_entropy(m(SOURCE, TARGET)[0].flatten(0, 1), TARGET.flatten()).item()
        for m in (short, model)
    ]
    assert losses[1] < losses[0] - 0.5
    assert error(model.embedding.weight, other.embedding.weight) > 1e-4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: to_indices([]), "texts must be one or more"),
        (lambda: to_indices([""]), f"text must have 1 to {MAX_LENGTH} characters; got 0"),
        (lambda: to_indices(["1" * 161]), "characters; got 161"),
        (lambda: to_indices(["3 März 2019".lower()]), "alone; got 'ä'"),
        (lambda: load_translator().translate(["3 March 2019"]), "alone; got 'M'"),
        (lambda: load_translator().align(""), "characters; got 0"),
        (lambda: draw_lines(-1, 0), "count must be 0 or more; got -1"),
        (lambda: draw_lines(1, 0, after=-2), "after must be 0 or more; got -2"),
        (lambda: DateTranslator(0), "size must be 1 or more; got 0"),
        (lambda: train_translator(8, steps=0), "steps must be 1 or more; got 0"),
        (lambda: train_translator(8, rate=0.0), "rate must be above 0; got 0.0"),
        (lambda: load_weights("dates"), "name must be one of"),
    ],
)
def test_what_cannot_be_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_types_are_checked() -> None:
    with pytest.raises(TypeError, match="text must be"):
        to_indices([3])
    with pytest.raises(TypeError, match="attends must be True or False"):
        DateTranslator(8, attends=1)


MENDED = {
    "taught_ahead": ("[:, 1:]", "[:, :-1]"),
    "padding_looked_at": ("source >= 0", "source > 0"),
}


@pytest.mark.parametrize("name", MENDED)
def test_exhibits_are_wrong_in_one_line(name: str) -> None:
    model = untrained()
    right: Tensor = model(SOURCE, TARGET)[0]
    wrong, mended = (
        load_exhibit(f"model/{name}", MENDED[name], mended=mended).teach(model, SOURCE, TARGET)
        for mended in (False, True)
    )
    assert error(wrong, right) > 1e-3
    assert error(mended, right) <= 1e-12
