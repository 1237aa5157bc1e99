"""The recurrent encoder against PyTorch's, its counts, and the two ways to lose a sentence."""

import math
import re
import types

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from attn_docs import AdditiveAttention, encode_step_by_step
from docs._kit.examples import example
from docs._kit.measured import load as load_measured
from docs._kit.measured import measurement
from docs._tools.blocks import ROOT
from docs._tools.page import page_module

bench = page_module("foundations/origin", "benchmark")
recall = page_module("foundations/origin", "recall")
tables = page_module("foundations/origin", "tables")

proof = settings(derandomize=True, deadline=None, max_examples=40)
EXHIBITS = ROOT / "attn_docs" / "exhibits" / "foundations"
MENDED = {
    "batch_first_forgotten": (
        "nn.GRU(input_size, hidden_size)",
        "nn.GRU(input_size, hidden_size, batch_first=True)",
    ),
    "last_state_of_padding": ("states[rows, -1]", "states[rows, lengths - 1]"),
}


def make(batch: int, n: int, size: int, hidden: int, **options: object) -> tuple[Tensor, nn.GRU]:
    torch.manual_seed(0)
    gru = nn.GRU(size, hidden, **options)
    return torch.randn(batch, n, size, dtype=gru.weight_ih_l0.dtype, requires_grad=True), gru


@proof
@given(st.permutations(range(1, 8)), st.booleans())
def test_it_equals_torch_values_and_gradients(sizes: list[int], bias: bool) -> None:
    inputs, gru = make(*sizes[:4], bias=bias, batch_first=True, dtype=torch.float64)
    leaves = [inputs, *gru.parameters()]
    ours, (theirs, last) = encode_step_by_step(inputs, gru), gru(inputs)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    torch.testing.assert_close(ours[:, -1], last[0], rtol=0, atol=1e-12)
    mine, reference = (
        torch.autograd.grad((out * out.detach().cos()).sum(), leaves) for out in (ours, theirs)
    )
    for a, b in zip(mine, reference, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_it_equals_torch_in_float32() -> None:
    inputs, gru = make(3, 7, 4, 6, batch_first=True)
    torch.testing.assert_close(encode_step_by_step(inputs, gru), gru(inputs)[0], rtol=0, atol=1e-6)


def test_it_equals_the_formula_one_number_at_a_time() -> None:
    inputs, gru = make(1, 3, 2, 4, dtype=torch.float64)
    w_i, w_h, b_i, b_h = (p.detach().tolist() for p in gru.parameters())

    def line(row: int, weights: list, bias: list, vector: list) -> float:
        return sum(w * v for w, v in zip(weights[row], vector, strict=True)) + bias[row]

    def sigmoid(number: float) -> float:
        return 1 / (1 + math.exp(-number))

    state, states = [0.0] * 4, []
    for x in inputs[0].tolist():
        new = []
        for c in range(4):
            reset, update = (
                sigmoid(line(c + 4 * g, w_i, b_i, x) + line(c + 4 * g, w_h, b_h, state))
                for g in (0, 1)
            )
            candidate = math.tanh(line(c + 8, w_i, b_i, x) + reset * line(c + 8, w_h, b_h, state))
            new.append((1 - update) * candidate + update * state[c])
        state = new
        states.append(state)
    found = encode_step_by_step(inputs, gru)[0]
    torch.testing.assert_close(found, torch.tensor(states).double(), rtol=0, atol=1e-6)


def test_the_batch_comes_first_whatever_the_module_says() -> None:
    inputs, gru = make(3, 7, 4, 6, batch_first=False, dtype=torch.float64)
    wanted = gru(inputs.transpose(0, 1))[0].transpose(0, 1)
    torch.testing.assert_close(encode_step_by_step(inputs, gru), wanted, rtol=0, atol=1e-12)


def test_a_state_depends_on_its_word_and_the_earlier_ones_only() -> None:
    inputs, gru = make(1, 5, 4, 6, dtype=torch.float64)
    states = encode_step_by_step(inputs, gru)
    for t in range(5):
        (gradient,) = torch.autograd.grad(states[:, t].sum(), inputs, retain_graph=True)
        assert (gradient[0].norm(dim=-1) > 0).tolist() == [j <= t for j in range(5)]


def test_no_sentences_have_no_states() -> None:
    _, gru = make(1, 5, 4, 6)
    assert encode_step_by_step(torch.zeros(0, 5, 4), gru).shape == (0, 5, 6)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"inputs": [1.0]}, TypeError, "inputs must be a torch.Tensor; got list"),
        (
            {"inputs": torch.zeros(2, 3, 4, dtype=torch.int64)},
            TypeError,
            "inputs must be float16, bfloat16, float32 or float64; got torch.int64",
        ),
        (
            {"inputs": torch.zeros(3, 4)},
            ValueError,
            "inputs must have at least 3 axes; got shape (3, 4)",
        ),
        (
            {"inputs": torch.zeros(1, 2, 3, 4)},
            ValueError,
            (
                "inputs must have 3 axes (batch, length, size) and a length of 1 or more; "
                "got shape (1, 2, 3, 4)"
            ),
        ),
        (
            {"inputs": torch.zeros(2, 0, 4)},
            ValueError,
            (
                "inputs must have 3 axes (batch, length, size) and a length of 1 or more; "
                "got shape (2, 0, 4)"
            ),
        ),
        ({"gru": nn.LSTM(4, 6)}, TypeError, "gru must be a torch.nn.GRU; got LSTM"),
        (
            {"gru": nn.GRU(4, 6, num_layers=2)},
            ValueError,
            "gru must have one layer and one direction; got 2 and 1",
        ),
        (
            {"gru": nn.GRU(4, 6, bidirectional=True)},
            ValueError,
            "gru must have one layer and one direction; got 1 and 2",
        ),
        (
            {"gru": nn.GRU(5, 6)},
            ValueError,
            "inputs must have gru's input_size 5 as its last size; got 4",
        ),
        (
            {"gru": nn.GRU(4, 6, dtype=torch.float64)},
            TypeError,
            "gru.weight_ih_l0 must have inputs's dtype torch.float32; got torch.float64",
        ),
    ],
)
def test_a_wrong_argument_is_named(change: dict, error: type[Exception], message: str) -> None:
    arguments = {"inputs": torch.zeros(2, 3, 4), "gru": nn.GRU(4, 6)} | change
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        encode_step_by_step(**arguments)


def test_the_weight_named_is_the_one_that_does_not_fit() -> None:
    gru = nn.GRU(4, 6)
    gru.weight_ih_l0 = nn.Parameter(gru.weight_ih_l0.double())
    with pytest.raises(TypeError, match=r"^gru.weight_ih_l0 must have inputs's dtype "):
        encode_step_by_step(torch.zeros(2, 3, 4), gru)


@pytest.mark.parametrize(("n", "d"), [(2, 3), (5, 4), (7, 7), (16, 8)])
def test_operations_are_those_that_a_run_counts(n: int, d: int) -> None:
    counted = example("foundations/origin/exercise_count")
    with FlopCounterMode(display=False) as counter:
        encode_step_by_step(torch.randn(1, n, d), nn.GRU(d, d))
    assert counter.get_total_flops() == counted["gru_operations"](n, d)

    words, projections = torch.randn(n, d), [torch.randn(d, d) for _ in range(4)]
    with FlopCounterMode(display=False) as counter:
        query, key, value = (words @ projection for projection in projections[:3])
        (torch.softmax(query @ key.mT / d**0.5, -1) @ value) @ projections[3]
    assert counter.get_total_flops() == counted["self_attention_operations"](n, d)


def test_the_measured_table_has_a_row_a_length_in_both_languages() -> None:
    fast, slow = {"forward": 0.001, "both": 0.002}, {"forward": 0.25, "both": 1.0}
    values = [
        value
        for words, gru, attention in ((4096, fast, slow), (16, slow, fast))
        for passes in ("forward", "both")
        for value in bench.values(words, passes, [gru[passes], attention[passes]], ["one", "other"])
    ]
    measured = measurement(values, threads=1)
    for language in ("en", "zh"):
        rows = tables.over_length_table(measured, language).splitlines()
        assert rows[2:4] == [
            "| 16 | 250 | 1 | 2.5e+02× | 5e+02× |",
            "| 4,096 | 1 | 250 | 0.004× | 0.002× |",
        ]
        assert measured.circumstances(language) in rows[-2]


def test_the_stored_times_and_ratios_agree_and_are_as_the_page_says() -> None:
    stored = load_measured(tables.__file__)["over_length"]
    ratios = []
    for words in bench.LENGTHS:
        gru, attention = (
            stored("time", words=words, layer=layer, unit="ms") for layer in ("gru", "attention")
        )
        ratios.append(stored("time", words=words, passes="forward", unit="ratio"))
        assert ratios[-1] == pytest.approx(gru / attention, rel=0.05)
    # on short texts self-attention is ahead, on the longest it is the slower one
    assert ratios[0] > 1 > ratios[-1]


# --- distance and bottleneck, apart -----------------------------------------------------------


def first_word_gradient(size: int, bias: float = 0.0) -> tuple[float, float]:
    torch.manual_seed(0)
    gru = nn.GRU(32, size, batch_first=True)
    with torch.no_grad():
        gru.bias_ih_l0[size : 2 * size] += bias
    words = torch.randn(64, 16, 32, requires_grad=True)
    (gradient,) = torch.autograd.grad(gru(words)[0][:, -1].sum(), words)
    first, last = (gradient[:, place].norm(dim=-1).median().item() for place in (0, -1))
    return first, last


def test_a_larger_state_does_not_carry_the_first_word_further() -> None:
    fades = [first / last for first, last in map(first_word_gradient, (32, 256))]
    assert max(fades) < 1e-2
    assert max(fades) < 2 * min(fades)
    first, last = first_word_gradient(256, bias=5.0)
    assert first > 0.5 * last  # open gates overcome the distance


def test_the_stored_memory_test_shows_the_bottleneck_and_not_distance() -> None:
    stored = load_measured(tables.__file__)["recall"]

    def found(way: object, words: int, quantity: str = "accuracy") -> float:
        return stored(quantity, **way._asdict(), words=words)

    short, middle, long = recall.LENGTHS
    assert min(found(recall.FIRST, n) for n in recall.LENGTHS) > 0.99  # distance is no obstacle
    last = {
        n: {d: found(recall.Way(d, "any", attends=False), n) for d in recall.SIZES}
        for n in recall.LENGTHS
    }
    for n in (middle, long):  # the size is: each larger state remembers more
        assert list(last[n].values()) == sorted(last[n].values())
    # four words fit into 16 numbers, eight into 128, sixteen do not
    assert last[short][16] > 0.99 > last[short][8]
    assert last[middle][128] > 0.99 > last[middle][64]
    assert last[long][128] < 0.65
    assert min(found(recall.Way(d, "any", attends=True), long) for d in recall.ATTENDING) > 0.95
    assert {value["seeds"] for value in stored.values} == {len(recall.SEEDS)} == {3}
    for way, words in recall.RUNS:
        mean, low, high = (found(way, words, q) for q in ("accuracy", "lowest", "highest"))
        assert low <= mean <= high
        assert f"{mean:.2f}" in tables.recall_table(stored, "en")


def test_a_short_sentence_is_remembered_and_the_answer_is_the_word_asked_for() -> None:
    sentences, places, kinds = recall.draw(50, 5, "any")
    assert [int(s[p]) for s, p in zip(sentences, places, strict=True)] == kinds.tolist()
    assert recall.draw(50, 5, "first")[1].tolist() == [0] * 50
    with torch.random.fork_rng():
        model = recall.train(recall.Way(8, "any", attends=True), 2, seed=0, steps=200)
        found, _ = recall.accuracy(model, 2, "any")
    assert found > 0.9


def load(name: str, *, mended: bool) -> types.ModuleType:
    source = (EXHIBITS / f"{name}.py").read_text(encoding="utf-8")
    wrong, right = MENDED[name]
    assert wrong in source
    module = types.ModuleType(name)
    exec(source.replace(wrong, right) if mended else source, module.__dict__)  # noqa: S102
    return module


@pytest.mark.parametrize("name", sorted(MENDED))
def test_one_line_of_an_exhibit_is_wrong_and_says_so(name: str) -> None:
    source = (EXHIBITS / f"{name}.py").read_text(encoding="utf-8")
    (marked,) = [line for line in source.splitlines() if "# wrong: " in line]
    assert MENDED[name][0] in marked
    assert source.startswith('"""Bug: ')


def test_batch_first_forgotten() -> None:
    words, gru = make(3, 5, 4, 6, batch_first=True)
    found = []
    for mended in (False, True):
        exhibit = load("batch_first_forgotten", mended=mended)
        encoder = exhibit.make_encoder(4, 6)
        encoder.load_state_dict(gru.state_dict())
        found.append(exhibit.encode(encoder, words))
    wanted = encode_step_by_step(words, gru)
    assert found[0].shape == wanted.shape
    assert not torch.allclose(found[0], wanted, atol=1e-2)
    torch.testing.assert_close(found[1], wanted, rtol=0, atol=1e-6)
    # the first sentence reaches the others, which no encoder may let happen
    (gradient,) = torch.autograd.grad(found[0][1:].sum(), words)
    assert gradient[0].norm() > 0


def test_last_state_of_padding() -> None:
    torch.manual_seed(0)
    states, lengths = torch.randn(3, 5, 4), torch.tensor([2, 5, 4])
    wrong, right = (
        load("last_state_of_padding", mended=mended).sentence_vector(states, lengths)
        for mended in (False, True)
    )
    wanted = torch.stack([s[: int(n)][-1] for s, n in zip(states, lengths, strict=True)])
    assert wrong.shape == wanted.shape
    assert [torch.equal(a, b) for a, b in zip(wrong, wanted, strict=True)] == [False, True, False]
    assert torch.equal(right, wanted)


@pytest.mark.formula(
    r"""\begin{aligned}
    r_t &= \sigma(W_{i r} x_t + b_{i r} + W_{h r} h_{t-1} + b_{h r}) \\
    z_t &= \sigma(W_{i z} x_t + b_{i z} + W_{h z} h_{t-1} + b_{h z}) \\
    c_t &= \tanh\bigl(W_{i c} x_t + b_{i c} + r_t \odot (W_{h c} h_{t-1} + b_{h c})\bigr) \\
    h_t &= (1 - z_t) \odot c_t + z_t \odot h_{t-1}
    \end{aligned}"""
)
def test_the_formula_of_the_encoder() -> None:
    inputs, gru = make(1, 4, 3, 2, dtype=torch.float64)
    weights = [parameter.detach().numpy() for parameter in gru.parameters()]
    (W_ir, W_iz, W_ic), (W_hr, W_hz, W_hc), (b_ir, b_iz, b_ic), (b_hr, b_hz, b_hc) = (
        np.split(weight, 3) for weight in weights
    )

    def sigma(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-x))

    h = np.zeros(2)
    states = encode_step_by_step(inputs, gru)[0].detach().numpy()
    for x, state in zip(inputs[0].detach().numpy(), states, strict=True):
        r = sigma(W_ir @ x + b_ir + W_hr @ h + b_hr)
        z = sigma(W_iz @ x + b_iz + W_hz @ h + b_hz)
        c = np.tanh(W_ic @ x + b_ic + r * (W_hc @ h + b_hc))
        h = (1 - z) * c + z * h
        np.testing.assert_allclose(state, h, rtol=0, atol=1e-12)


@pytest.mark.formula(
    r"""a_{ij} = u^\top \tanh(W s_{i-1} + U h_j)
    \qquad
    w_{ij} = \frac{\exp(a_{ij})}{\sum_{l=1}^{n} \exp(a_{il})}
    \qquad
    o_i = \sum_{j=1}^{n} w_{ij}\, h_j"""
)
def test_the_formula_of_the_attention_is_additive_attention() -> None:
    steps, n, d, e, width = 3, 5, 2, 4, 6
    numbers = np.random.default_rng(0)
    shapes = (steps, e), (n, d), (width, e), (width, d), (width,)
    s, h, W, U, v = (numbers.normal(size=shape) for shape in shapes)
    attend = AdditiveAttention(query_dim=e, key_dim=d, hidden_dim=width).double()
    with torch.no_grad():
        for parameter, given_ in zip(attend.parameters(), (W, U, v[None]), strict=True):
            parameter.copy_(torch.from_numpy(given_))
    query, states = torch.from_numpy(s)[None], torch.from_numpy(h)[None]
    output, weights = attend(query, states, states, need_weights=True)
    for i in range(steps):
        a = [v.T @ np.tanh(W @ s[i] + U @ h[j]) for j in range(n)]
        w = [np.exp(a[j]) / sum(np.exp(a[l]) for l in range(n)) for j in range(n)]
        o = sum(w[j] * h[j] for j in range(n))
        np.testing.assert_allclose(weights[0, i].detach(), w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(output[0, i].detach(), o, rtol=0, atol=1e-12)
