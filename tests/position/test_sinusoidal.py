"""Sinusoidal positions against independent implementations, their properties, errors, exhibits."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import (
    CTRLConfig,
    CTRLLMHeadModel,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    WhisperConfig,
    WhisperForConditionalGeneration,
    XLMConfig,
    XLMWithLMHeadModel,
)
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.speecht5.modeling_speecht5 import SpeechT5ScaledPositionalEncoding
from transformers.models.xlm.modeling_xlm import create_sinusoidal_embeddings

from attn_docs import KVCache, MultiHeadAttention, sinusoidal
from attn_docs.model import MLP, Block, DecoderModel
from attn_docs.testing import check_module
from docs._kit.examples import example
from tests.kit import error, load_exhibit, normal


def by_loops(positions: Tensor, dim: int, base: float = 10000.0) -> Tensor:
    """Return the two lines of the paper, one number at a time."""
    rows = []
    for p in positions.flatten().tolist():
        row = [0.0] * dim
        for i in range(dim // 2):
            row[2 * i] = math.sin(p / base ** (2 * i / dim))
            row[2 * i + 1] = math.cos(p / base ** (2 * i / dim))
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64).view(*positions.shape, dim)


# --- the function ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 5), (2, 3, 4), (0,), (2, 0)])
@pytest.mark.parametrize("dim", [2, 6, 10])
@pytest.mark.parametrize("base", [10000.0, 100, 0.5, 2.0**20])
def test_it_is_the_two_lines_of_the_paper(shape: tuple[int, ...], dim: int, base: float) -> None:
    generator = torch.Generator().manual_seed(0)
    positions = torch.randint(-50, 900, shape, generator=generator)
    found = sinusoidal(positions.double(), dim, base=base)
    assert found.dtype == torch.float64
    assert found.shape == (*shape, dim)
    assert error(found, by_loops(positions, dim, base)) <= 1e-10
    narrow = sinusoidal(positions, dim, base=base)
    assert narrow.dtype == torch.float32
    assert error(narrow.double(), by_loops(positions, dim, base)) <= 3e-3 * (1 + (base < 1))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_any_integers_will_do(dtype: torch.dtype) -> None:
    positions = torch.tensor([0, 1, 5, 120], dtype=dtype)
    assert torch.equal(sinusoidal(positions, 6), sinusoidal(positions.float(), 6))


def test_it_is_the_code_of_xlm_and_speecht5() -> None:
    theirs = create_sinusoidal_embeddings(90, 48, torch.empty(90, 48))
    assert error(sinusoidal(torch.arange(90), 48), theirs) < 5e-5
    theirs = SpeechT5ScaledPositionalEncoding(0.0, 48, max_len=90).pe[0]
    assert error(sinusoidal(torch.arange(90), 48), theirs) < 5e-5


def test_a_pair_is_a_complex_number() -> None:
    positions, omega = torch.arange(-40, 40).double(), 300.0 ** -(torch.arange(5).double() / 5)
    wanted = torch.polar(torch.ones(80, 5).double(), positions[:, None] * omega)
    found = sinusoidal(positions, 10, base=300.0).unflatten(-1, (5, 2))
    assert error(found[..., 0], wanted.imag) <= 1e-12
    assert error(found[..., 1], wanted.real) <= 1e-12


def test_its_gradient_is_the_speed_of_the_hands() -> None:
    positions = normal(7).requires_grad_()
    weight = normal(7, 6, seed=1)
    (found,) = torch.autograd.grad((sinusoidal(positions, 6) * weight).sum(), positions)
    for row, p in enumerate(positions.tolist()):
        slope = 0.0
        for i in range(3):
            omega = 10000.0 ** (-2 * i / 6)
            slope += omega * math.cos(p * omega) * weight[row, 2 * i].item()
            slope -= omega * math.sin(p * omega) * weight[row, 2 * i + 1].item()
        assert found[row].item() == pytest.approx(slope, abs=1e-12)
    assert torch.autograd.gradcheck(lambda x: sinusoidal(x, 6), normal(3).requires_grad_())


def test_far_positions_are_as_exact_as_it_says() -> None:
    positions = torch.tensor([10**6 - 1, 10**6 + 1, -(10**6)])
    angle = sinusoidal(positions, 32).unflatten(-1, (-1, 2))
    wanted = by_loops(positions, 32).unflatten(-1, (-1, 2))
    off = torch.atan2(*angle.double().unbind(-1)) - torch.atan2(*wanted.unbind(-1))
    off = (off + math.pi) % (2 * math.pi) - math.pi
    assert 0.001 < off.abs().max() < 0.13
    exact = sinusoidal(positions.double(), 32)
    assert error(exact, by_loops(positions, 32)) < 1e-8


def test_every_vector_has_one_length_and_products_are_of_distances() -> None:
    table = sinusoidal(torch.arange(500).double(), 24)
    assert (
        error(table.norm(dim=-1), torch.full((500,), math.sqrt(12), dtype=torch.float64)) <= 1e-12
    )
    products = table @ table.T
    for distance in (0, 1, 7, 300):
        line = torch.diagonal(products, distance)
        assert error(line, line[:1].expand_as(line)) <= 1e-9


def test_it_runs_where_there_are_no_values_and_when_compiled() -> None:
    assert sinusoidal(torch.arange(5, device="meta"), 6).shape == (5, 6)
    compiled = torch.compile(lambda p: sinusoidal(p, 6), backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.arange(5)), sinusoidal(torch.arange(5), 6))


@pytest.mark.parametrize(
    ("positions", "dim", "base", "kind", "message"),
    [
        ([0, 1], 4, 1e4, TypeError, "positions must be a torch.Tensor; got list"),
        (torch.tensor([True]), 4, 1e4, TypeError, "positions must hold integers, float32 or"),
        (torch.zeros(2).half(), 4, 1e4, TypeError, "float64; got torch.float16"),
        (torch.zeros(2).bfloat16(), 4, 1e4, TypeError, "float64; got torch.bfloat16"),
        (torch.tensor([2**24 + 1]), 4, 1e4, ValueError, "to 16777216; got 16777217"),
        (torch.tensor([-(2**24) - 1]), 4, 1e4, ValueError, "from -16777216 .* got -16777217"),
        (torch.tensor([1.0, math.nan]), 4, 1e4, ValueError, "positions must be .* got nan"),
        (torch.tensor([math.inf]), 4, 1e4, ValueError, "positions must be .* got inf"),
        (torch.arange(3), 7, 1e4, ValueError, "dim must be even, a sine and a cosine .* got 7"),
        (torch.arange(3), 0, 1e4, ValueError, "dim must be 1 or more; got 0"),
        (torch.arange(3), 4.0, 1e4, TypeError, "dim must be an int; got 4.0"),
        (torch.arange(3), True, 1e4, TypeError, "dim must be an int; got True"),
        (torch.arange(3), 4, 0, ValueError, "base must be above 0; got 0"),
        (torch.arange(3), 4, math.inf, ValueError, "base must be finite; got inf"),
        (torch.arange(3), 4, "1", TypeError, "base must be an int or a float; got '1'"),
    ],
)
def test_bad_input_is_refused(
    positions: object, dim: object, base: object, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        sinusoidal(positions, dim, base=base)


def test_the_ends_of_the_range_are_taken() -> None:
    assert sinusoidal(torch.tensor([2**24, -(2**24)]), 2).shape == (2, 2)
    assert sinusoidal(torch.tensor([3.5]), 2).dtype == torch.float32
    assert sinusoidal(torch.tensor([-128], dtype=torch.int8), 2).shape == (1, 2)


# --- the formulas of the page -----------------------------------------------------------------


@pytest.mark.formula(r"""
P_{p,\,2i} = \sin(p\,\omega_i)
\qquad P_{p,\,2i+1} = \cos(p\,\omega_i)
\qquad \omega_i = c^{-2i/D}
\qquad i = 0, \dots, D/2 - 1
""")
def test_the_formula_of_a_position() -> None:
    D, c = 6, 500.0
    P = sinusoidal(torch.arange(9).double(), D, base=c)
    for p, i in itertools.product(range(9), range(D // 2)):
        omega = c ** (-2 * i / D)
        assert P[p, 2 * i].item() == pytest.approx(math.sin(p * omega), abs=1e-12)
        assert P[p, 2 * i + 1].item() == pytest.approx(math.cos(p * omega), abs=1e-12)


@pytest.mark.formula(r"""
\begin{pmatrix} P_{p+r,\,2i} \\ P_{p+r,\,2i+1} \end{pmatrix} =
\begin{pmatrix} \cos(r\,\omega_i) & \sin(r\,\omega_i) \\
-\sin(r\,\omega_i) & \cos(r\,\omega_i) \end{pmatrix}
\begin{pmatrix} P_{p,\,2i} \\ P_{p,\,2i+1} \end{pmatrix}
""")
def test_the_formula_of_a_shift() -> None:
    D, c = 6, 500.0
    for p, r, i in itertools.product((0, 4, 90), (-3, 1, 17), range(D // 2)):
        omega = c ** (-2 * i / D)
        cos, sin = math.cos(r * omega), math.sin(r * omega)
        here, there = sinusoidal(torch.tensor([p, p + r]).double(), D, base=c)
        matrix = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
        pair = slice(2 * i, 2 * i + 2)
        assert error(matrix @ here[pair], there[pair]) <= 1e-12


@pytest.mark.formula(r"P_p \cdot P_{p+r} = \sum_i \cos(r\,\omega_i)")
def test_the_formula_of_a_product() -> None:
    D, c = 6, 500.0
    for p, r in itertools.product((0, 4, 90), (-3, 0, 17)):
        here, there = sinusoidal(torch.tensor([p, p + r]).double(), D, base=c)
        wanted = sum(math.cos(r * c ** (-2 * i / D)) for i in range(D // 2))
        assert (here @ there).item() == pytest.approx(wanted, abs=1e-12)


# --- exhibits ----------------------------------------------------------------------------------

PAIRS = "2 * (dimension // 2) / dim"
MENDED = {
    "exponent_of_dimensions": ("2 * dimension / dim", PAIRS),
    "cosine_half_a_step_off": ("dimension / dim", PAIRS),
    "exponent_doubled": ("2 * even / dim", "even / dim"),
    "cosine_of_the_sine": ("x[..., 0::2].cos()", "x[..., 1::2].cos()"),
    "first_rows_taken": ("table[positions]", "table[positions + 2]"),
    "positions_wrapped": ("positions % len(table)", "positions"),
    "padding_counted": (
        "torch.arange(mask.size(1)).expand_as(mask)",
        "(mask.cumsum(1) - 1).clamp(min=0)",
    ),
    "added_from_zero": (
        "torch.arange(tokens.size(1))",
        "cache.length + torch.arange(tokens.size(1))",
    ),
}
TABLES = tuple(MENDED)[:4]
both = pytest.mark.parametrize("mended", [False, True])


@both
@pytest.mark.parametrize("name", TABLES)
def test_wrong_tables_are_right_once_mended(name: str, mended: bool) -> None:
    table = load_exhibit(f"position/{name}", MENDED[name], mended=mended).table
    positions = torch.arange(60).double()
    assert (error(table(positions, 10), by_loops(positions, 10)) < 1e-4) == mended


def quoted(kind: str, pos: int, dim: int) -> list[float]:
    """Return a vector by the lines that the threads quote."""
    row = [0.0] * dim
    if kind == "SamLynnEvans #25":
        for i in range(0, dim, 2):
            row[i] = math.sin(pos / (10000 ** ((2 * i) / dim)))
            row[i + 1] = math.cos(pos / (10000 ** ((2 * (i + 1)) / dim)))
    elif kind == "its first repair":
        for i in range(0, dim, 2):
            row[i] = math.sin(pos / (10000 ** ((2 * i) / dim)))
            row[i + 1] = math.cos(pos / (10000 ** ((2 * i) / dim)))
    elif kind == "PapersReimplementations #9":
        wk = [1 / 10_000 ** (2 * j / dim) for j in range(dim)]
        row[::2] = [math.sin(pos * w) for w in wk[::2]]
        row[1::2] = [math.cos(pos * w) for w in wk[::2]]
    else:
        angles = [pos / 10000 ** (2.0 * i / dim) for i in range(dim)]
        if kind == "maxjcohen #62":
            angles = [pos / 10000 ** (i / dim) for i in range(dim)]
        row[::2] = map(math.sin, angles[::2])
        row[1::2] = map(math.cos, angles[1::2])
    return row


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("SamLynnEvans #25", "exponent_of_dimensions"),
        ("Kyubyong #38, jadore801120 #32, DeepCTR #379", "exponent_of_dimensions"),
        ("maxjcohen #62", "cosine_half_a_step_off"),
        ("its first repair", "exponent_doubled"),
        ("PapersReimplementations #9", "exponent_doubled"),
    ],
)
def test_exhibits_are_what_the_threads_quote(kind: str, name: str) -> None:
    table = load_exhibit(f"position/{name}", MENDED[name], mended=False).table
    found = table(torch.arange(40).double(), 12)
    wanted = torch.tensor([quoted(kind, p, 12) for p in range(40)], dtype=torch.float64)
    assert error(found, wanted) < 1e-4


@both
def test_first_rows_are_not_those_of_opt(mended: bool) -> None:
    module = load_exhibit("position/first_rows_taken", MENDED["first_rows_taken"], mended=mended)
    table = normal(9, 4)
    assert torch.equal(module.look_up(table, torch.arange(7)), table[2:]) == mended


@both
def test_a_wrapped_position_raises_nothing(mended: bool) -> None:
    module = load_exhibit("position/positions_wrapped", MENDED["positions_wrapped"], mended=mended)
    table, beyond = normal(9, 4), torch.tensor([9])
    if mended:
        with pytest.raises(IndexError):
            module.look_up(table, beyond)
    else:
        assert torch.equal(module.look_up(table, beyond)[0], table[0])


Run = Callable[..., Tensor]


@pytest.fixture(scope="module")
def run() -> Run:
    """Return a model of two blocks as a function of tokens and positions."""
    torch.manual_seed(0)
    embedding = nn.Embedding(20, 12).double()
    blocks = [
        Block(MultiHeadAttention(12, 3), MLP(12), nn.LayerNorm(12), nn.LayerNorm(12)).double()
        for _ in range(2)
    ]

    @torch.no_grad()
    def forward(
        tokens: Tensor,
        positions: Tensor,
        caches: tuple[KVCache | None, ...] = (None, None),
        mask: Tensor | None = None,
    ) -> Tensor:
        x = embedding(tokens) + sinusoidal(positions.double(), 12)
        for block, cache in zip(blocks, caches, strict=True):
            x = block(x, is_causal=True, cache=cache, attn_mask=mask)
        return x

    forward.blocks = blocks
    return forward


@both
def test_token_by_token_is_the_whole_text(run: Run, mended: bool) -> None:
    module = load_exhibit("position/added_from_zero", MENDED["added_from_zero"], mended=mended)
    tokens = torch.randint(20, (2, 11), generator=torch.Generator().manual_seed(3))
    caches = [block.new_cache(2, 11) for block in run.blocks]
    parts = [
        run(chunk, module.positions_of(chunk, caches[0]), caches)
        for chunk in tokens.split((3, 1, 5, 2), dim=1)
    ]
    same = error(torch.cat(parts, dim=1), run(tokens, torch.arange(11))) <= 1e-12
    assert same == mended


@both
def test_a_text_padded_on_the_left_is_the_text_alone(run: Run, mended: bool) -> None:
    module = load_exhibit("position/padding_counted", MENDED["padding_counted"], mended=mended)
    tokens = torch.randint(20, (2, 9), generator=torch.Generator().manual_seed(3))
    real = torch.ones(2, 9).long()
    real[1, :4] = 0
    found = run(tokens, module.positions_of(real), mask=real.bool()[:, None, None])
    alone = run(tokens[1:, 4:], torch.arange(5))
    assert (error(found[1:, 4:], alone) <= 1e-12) == mended
    assert error(found[:1], run(tokens[:1], torch.arange(9))) <= 1e-12  # the longest, either way


def test_a_decoder_takes_the_table() -> None:
    block = Block(MultiHeadAttention(12, 3), MLP(12), nn.LayerNorm(12), nn.LayerNorm(12))
    model = DecoderModel(20, 12, [block], max_length=9)
    model.position_embedding = nn.Embedding.from_pretrained(sinusoidal(torch.arange(9), 12))
    tokens = torch.randint(20, (2, 4))
    x = model.token_embedding(tokens) + sinusoidal(torch.arange(4), 12)
    wanted = model.output(block(x, is_causal=True))
    assert error(model(tokens), wanted) == 0.0
    assert model.generate(tokens, 5).shape == (2, 9)
    with pytest.raises(ValueError, match="tokens must be at most 9 in a row; got 10"):
        model.generate(tokens, 6)


# --- what the page says ------------------------------------------------------------------------


def test_the_stub_fails_for_the_reason_that_the_page_gives() -> None:
    found = example("position/sinusoidal/exercise")
    failed = {f.property for f in found["report"].findings if f.verdict == "fail"}
    assert "prefix" in failed
    attention = example("position/sinusoidal/answer")["Attention"](32, 4)
    report = check_module(attention, embed_dim=32, causal=True, positions="added")
    assert report.verdict == "passed"


def test_models_end_where_the_page_says() -> None:
    found = example("position/sinusoidal/last")["found"]
    assert found["RoBERTa"][0] - found["RoBERTa"][1] == 2
    assert all(found[name][0] == found[name][1] for name in ("GPT-2", "BERT", "OPT"))


def test_m2m100_begins_at_position_two() -> None:
    module = M2M100SinusoidalPositionalEmbedding(9, 8, padding_idx=1)
    table = module.get_embedding(11, 8)
    assert torch.equal(module(torch.tensor([[5, 6, 7]]))[0], table[2:5])


SMALL = {
    "vocab_size": 40, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 2,
}  # fmt: skip
XLM = {"vocab_size": 40, "emb_dim": 16, "n_layers": 1, "n_heads": 2, "sinusoidal_embeddings": True}
CTRL = {"vocab_size": 40, "n_embd": 16, "n_layer": 1, "n_head": 2, "dff": 16}
STORES = {
    "Whisper": (WhisperConfig(**SMALL), WhisperForConditionalGeneration, True),
    "XLM": (XLMConfig(**XLM), XLMWithLMHeadModel, True),
    "Marian": (MarianConfig(**SMALL), MarianMTModel, False),
    "M2M100": (M2M100Config(**SMALL), M2M100ForConditionalGeneration, False),
    "CTRL": (CTRLConfig(**CTRL), CTRLLMHeadModel, False),
}


@pytest.mark.parametrize("name", STORES)
def test_the_files_that_hold_the_table_are_those_of_whisper_and_xlm(
    name: str, tmp_path: Path
) -> None:
    config, model, stored = STORES[name]
    model(config).save_pretrained(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        assert any("position" in key for key in file.keys()) == stored  # noqa: SIM118
