"""The chapter on the block: its formulas, its hand-made model, its bugs, counts and figures."""

from types import ModuleType

import pytest
import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers.models.gpt2.modeling_gpt2 import GPT2Block
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

from attn_docs import GroupedQueryAttention, MultiHeadAttention, RotaryEmbedding
from attn_docs.model import MLP, Block, DecoderModel, GatedMLP
from docs._kit.examples import example
from docs._tools.page import page_module
from tests.kit import error, load_exhibit, normal, parse
from tests.model.test_decoder import llama_weights

figures = page_module("model/block", "figures")
tables = page_module("model/block", "tables")
languages = pytest.mark.parametrize("language", ["en", "zh"])

SIZE, HEADS = 12, 3
MENDED = {
    "normed_residual": ("normed +", "x +"),
    "forgotten_residual": ("x = layer", "x = x + layer"),
    "post_for_pre": ("False", "True"),
    "shared_norm": ("attention_norm", "mlp_norm"),
    "norm_over_sequence": ("[1:]", "[2:]"),
    "final_norm_missing": ("(x)", "(model.norm(x))"),
}


def trained(size: int = SIZE, *, pre_norm: bool = True) -> Block:
    """Return a block with norms as training leaves them."""
    torch.manual_seed(0)
    norms = [nn.LayerNorm(size) for _ in range(2)]
    for norm in norms:
        nn.init.normal_(norm.weight, 1.0, 0.3)
        nn.init.normal_(norm.bias, 0.0, 0.3)
    block = Block(MultiHeadAttention(size, HEADS), MLP(size), *norms, pre_norm=pre_norm)
    return block.double().requires_grad_(False)


def mended(name: str, *, right: bool) -> ModuleType:
    return load_exhibit(f"model/{name}", MENDED[name], mended=right)


# --- the formulas -----------------------------------------------------------------------------


@pytest.mark.formula(r"""
X_\text{attended} = X + \operatorname{Attention}(\operatorname{norm}_1(X))
\qquad
X_\text{out} = X_\text{attended} + \operatorname{MLP}(\operatorname{norm}_2(X_\text{attended}))
""")
def test_the_formula_of_a_block() -> None:
    block, x = trained(), normal(1, 5, SIZE)
    attended = x + block.attention(block.attention_norm(x), is_causal=True)
    assert torch.equal(attended + block.mlp(block.mlp_norm(attended)), block(x, is_causal=True))


@pytest.mark.formula(r"""
p = \operatorname{softmax}(\operatorname{norm}(X_L)\, W_U)
""")
def test_the_formula_of_the_probabilities() -> None:
    block, norm = trained(), nn.LayerNorm(SIZE)
    nn.init.normal_(norm.weight)
    model = DecoderModel(7, SIZE, [block], norm=norm).double()
    tokens = torch.tensor([[3, 1, 4, 1, 5]])
    x = block(model.token_embedding(tokens), is_causal=True)
    p = torch.softmax(norm(x) @ model.output.weight.T, -1)
    assert error(p, model(tokens).softmax(-1)) <= 1e-12
    assert error(p.sum(-1), torch.ones(1, 5).double()) <= 1e-12


# --- Hugging Face's blocks in float32 ---------------------------------------------------------


def test_a_block_of_gpt2_in_float32() -> None:
    torch.manual_seed(0)
    config = GPT2Config(n_embd=48, n_head=4, attn_implementation="sdpa")
    theirs = GPT2Block(config, layer_idx=0).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.2)
    mlp = MLP(48, approximate="tanh")
    ours = Block(MultiHeadAttention(48, 4), mlp, theirs.ln_1, theirs.ln_2)
    attention = ours.attention
    for kind in ("weight", "bias"):
        parts = getattr(theirs.attn.c_attn, kind).split(48, dim=-1)
        sources = dict(
            zip((attention.q_proj, attention.k_proj, attention.v_proj), parts, strict=True)
        )
        sources[attention.out_proj] = getattr(theirs.attn.c_proj, kind)
        sources[mlp.up_proj] = getattr(theirs.mlp.c_fc, kind)
        sources[mlp.down_proj] = getattr(theirs.mlp.c_proj, kind)
        for linear, numbers in sources.items():
            setattr(linear, kind, nn.Parameter(numbers.mT if numbers.ndim == 2 else numbers))
    x = normal(2, 7, 48, dtype=torch.float32)
    wanted = theirs(x)
    assert error(ours(x, is_causal=True), wanted) <= 2e-6 * wanted.abs().max()


def test_a_block_of_llama_in_float32() -> None:
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=48, num_attention_heads=6, num_key_value_heads=2, intermediate_size=80,
        rms_norm_eps=1e-5, attn_implementation="sdpa",
    )  # fmt: skip
    theirs = LlamaDecoderLayer(config, layer_idx=0).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.2)
    attention = GroupedQueryAttention(48, 6, 2, bias=False, rotary=RotaryEmbedding(8))
    ours = Block(attention, GatedMLP(48, 80), nn.RMSNorm(48, 1e-5), nn.RMSNorm(48, 1e-5))
    ours.load_state_dict(llama_weights(theirs.state_dict()))
    x = normal(2, 7, 48, dtype=torch.float32)
    positions = LlamaRotaryEmbedding(config)(x, torch.arange(7)[None])
    wanted = theirs(x, position_embeddings=positions)
    assert error(ours(x, is_causal=True), wanted) <= 2e-6 * wanted.abs().max()


# --- the exhibits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["forgotten_residual", "normed_residual", "post_for_pre", "norm_over_sequence"]
)
def test_a_wrong_block_has_the_right_shape_other_numbers_and_is_mended_by_its_line(name) -> None:
    block, x = trained(), 3 * normal(2, 5, SIZE)
    wanted = block(x, is_causal=True)
    wrong = mended(name, right=False).block(block, x)
    assert wrong.shape == wanted.shape
    assert error(wrong, wanted) > 0.1
    assert error(mended(name, right=True).block(block, x), wanted) <= 1e-12


def test_exhibit_post_for_pre_is_the_post_norm_block() -> None:
    x = normal(2, 5, SIZE)
    wrong = mended("post_for_pre", right=False).block(trained(), x)
    assert error(wrong, trained(pre_norm=False)(x, is_causal=True)) <= 1e-12


def test_exhibit_normed_residual() -> None:
    block, x = trained(), 3 * normal(2, 5, SIZE)
    wrong = mended("normed_residual", right=False).block(block, x)
    assert error(wrong, block(x, is_causal=True)) > 0.1
    # the length of what comes in is lost, which a residual stream never loses
    assert error(mended("normed_residual", right=False).block(block, 2 * x), wrong) < 1e-3
    assert error(block(2 * x, is_causal=True), block(x, is_causal=True)) > 1


def test_exhibit_shared_norm_shows_only_after_training() -> None:
    block, x = trained(), 3 * normal(2, 5, SIZE)
    wrong, right = (mended("shared_norm", right=flag).block for flag in (False, True))
    assert error(wrong(block, x), block(x, is_causal=True)) > 0.1
    assert error(right(block, x), block(x, is_causal=True)) <= 1e-12
    for norm in (block.attention_norm, block.mlp_norm):
        norm.reset_parameters()
    assert error(wrong(block, x), block(x, is_causal=True)) <= 1e-12
    for run, found in ((wrong, False), (right, True)):
        block.requires_grad_(True).zero_grad()
        run(block, x).square().sum().backward()
        assert (block.mlp_norm.weight.grad is not None) == found


def test_exhibit_norm_over_sequence_sees_the_future() -> None:
    block, x = trained(), normal(1, 5, SIZE)
    changed = x.clone()
    changed[:, 4] += normal(SIZE, seed=1)
    for right, seen in ((False, True), (True, False)):
        run = mended("norm_over_sequence", right=right).block
        moved = error(run(block, x)[:, :4], run(block, changed)[:, :4])
        assert (moved > 1e-3) == seen


def test_exhibit_final_norm_missing() -> None:
    norm = nn.LayerNorm(SIZE)
    model = DecoderModel(7, SIZE, [trained(), trained()], norm=norm).double()
    tokens = torch.tensor([[3, 1, 4, 1, 5]])
    assert (
        error(mended("final_norm_missing", right=False).logits(model, tokens), model(tokens)) > 0.1
    )
    assert (
        error(mended("final_norm_missing", right=True).logits(model, tokens), model(tokens))
        <= 1e-12
    )


# --- what the page says -----------------------------------------------------------------------


@pytest.mark.parametrize("name", list(tables.MODELS))
def test_parameters_are_those_of_the_models_own_class(name: str) -> None:
    config = tables.MODELS[name]
    model = GPT2LMHeadModel if isinstance(config, GPT2Config) else LlamaForCausalLM
    with torch.device("meta"):
        theirs = model(config)
    counts = tables.by_part(tables.built(config))
    assert sum(counts.values()) == sum(p.numel() for p in theirs.parameters())

    def count(*marks: str) -> int:
        found = [p.numel() for n, p in theirs.named_parameters() if any(m in n for m in marks)]
        return sum(found)

    assert counts["attention"] == count(".attn.", "self_attn")
    assert counts["mlp"] == count(".mlp.")
    assert counts["norms"] == count("ln_", "norm")
    assert counts["tokens"] == count("wte", "embed_tokens")
    assert counts["positions"] == count("wpe")
    assert counts["unembedding"] == count("lm_head")


def test_neither_part_alone_finds_the_next_word() -> None:
    sentence = example("model/block/sentence")
    model, tokens, words = sentence["model"], sentence["tokens"], sentence["WORDS"]

    def best(x: Tensor) -> str:
        return words[int(model.output(x)[0, -1].argmax())]

    x = model.token_embedding(tokens)
    (block,) = model.blocks
    read = block.attention(x, is_causal=True)
    assert best(x + read + block.mlp(x + read)) == "dreams"
    assert best(x + read) == "it"
    assert best(x + block.mlp(x)) == "it"
    assert block.mlp(x)[0, -1].abs().max() < 1e-4
    assert error(block(x, is_causal=True), x + read + block.mlp(x + read)) <= 1e-6


def test_gradients_fall_with_depth_before_and_not_after() -> None:
    found = example("model/block/pre_or_post")["found"]
    pre, post = ([found[name, count][-1] for count in (2, 8, 32)] for name in ("pre", "post"))
    assert pre[0] > 1.3 * pre[1] > 1.5 * pre[2]
    assert max(post) < 1.5 * min(post)
    assert post[2] > 4 * pre[2]


def test_what_the_page_says_of_deep_models() -> None:
    alike, spread = (example("model/block/deep")[name] for name in ("alike", "spread"))
    assert alike["no residual"][1] > 0.995
    assert alike["right"][0] > 0.5
    assert spread[1] > 1.5 * spread[0]


# --- the figures ------------------------------------------------------------------------------


def written(row: list[str]) -> list[float]:
    return [float(text.replace("−", "-")) for text in row]


@languages
def test_the_stream_shows_the_programs_numbers_and_they_add_up(language: str) -> None:
    root = parse(figures.FIGURES["stream"](language))
    rows = {
        group.get("data-row"): [text.text for text in group.iter("text")]
        for group in root.iter("g")
        if group.get("data-row")
    }
    for name, values in figures.vectors().items():
        assert written(rows[name]) == pytest.approx(values, abs=0.0051)
    for below, part, above in (("bottom", "attention", "middle"), ("middle", "mlp", "up")):
        sums = [a + b for a, b in zip(written(rows[below]), written(rows[part]), strict=True)]
        assert written(rows[above]) == pytest.approx(sums, abs=0.011)
    assert written(rows["next"][::2]) == pytest.approx(
        list(figures.next_words().values()), abs=0.0051
    )
    assert rows["next"][1::2] == ["the", "cat", "sleeps", "it", "dreams"]
    assert "dreams" in root.findtext("desc")


@languages
def test_the_gradients_are_drawn_where_they_are(language: str) -> None:
    root = parse(figures.FIGURES["gradients"](language))
    found = example("model/block/pre_or_post")["found"]
    lines = {}
    for group in root.iter("g"):
        if group.get("data-part"):
            path = next(iter(group.iter("path"))).attrib["d"].replace("M", " ").replace("L", " ")
            numbers = [float(number) for number in path.split()]
            lines[group.get("data-part")] = numbers[1::2]
    assert set(lines) == {f"{name}-{count}" for name, count in found}
    low, high = lines["post-32"][-1], lines["pre-32"][-1]  # heights of two known values
    ends = [found["post", 32][-1].log().item(), found["pre", 32][-1].log().item()]
    for (name, count), values in found.items():
        heights = [
            low + (value - ends[0]) / (ends[1] - ends[0]) * (high - low)
            for value in values.log().tolist()
        ]
        assert lines[f"{name}-{count}"] == pytest.approx(heights, abs=0.05)


@torch.no_grad()
def test_without_its_rule_a_llama_of_3_1s_kind_loads_and_is_wrong() -> None:
    program = example("model/block/same_as_llama")
    ours, tokens = program["ours"], program["tokens"]
    assert program["scaling"] is not None
    for block in ours.blocks:
        block.attention.rotary = RotaryEmbedding(8, theta=500000.0)
    ours.load_state_dict(program["state"])
    assert error(ours(tokens), program["wanted"]) > 1e-3


@torch.no_grad()
def test_a_loop_over_rows_padded_on_the_left_writes_what_generate_does() -> None:
    torch.manual_seed(0)
    blocks = [Block(MultiHeadAttention(16, 4), MLP(16), *(nn.LayerNorm(16),) * 2)]
    model = DecoderModel(50, 16, blocks, max_length=32)
    rows = [torch.randint(50, (length,)) for length in (3, 7)]
    alone = torch.stack([model.generate(row[None], 8)[0, -8:] for row in rows])
    tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_side="left")
    real = torch.arange(7) >= torch.tensor([[4], [0]])
    for _ in range(8):
        new = model(tokens, key_padding_mask=real)[:, -1:].argmax(-1)
        tokens = torch.cat([tokens, new], 1)
        real = torch.cat([real, torch.ones_like(new, dtype=torch.bool)], 1)
    assert tokens[:, -8:].equal(alone)


def test_what_the_page_says_of_the_streams_length() -> None:
    program = example("model/block/pre_or_post")
    length, gradient = program["lengths"]["pre", 32], program["found"]["pre", 32]
    assert length[-1] > 3 * length[0]
    assert gradient[-1] < 0.3 * gradient[0]


@languages
def test_the_logits_are_drawn_and_shares_add_up(language: str) -> None:
    root = parse(figures.FIGURES["stream"](language))
    (row,) = (g for g in root.iter("g") if g.get("data-row") == "logits")
    found = written([text.text for text in row.iter("text")])
    assert found == pytest.approx(list(figures.logits().values()), abs=0.0051)
    vector = figures.vectors()["up"]
    assert found[4] == pytest.approx(vector[0] + vector[3], abs=0.011)  # verb and dreaming
    for group in parse(figures.FIGURES["shares"](language)).iter("g"):
        if group.get("data-model"):
            widths = [float(rect.get("width")) for rect in group.iter("rect")]
            assert sum(widths) == pytest.approx(400, abs=0.05)


def test_the_initialisation_is_hugging_faces() -> None:
    torch.manual_seed(0)
    sizes = {"n_embd": 64, "n_head": 4, "n_layer": 3, "vocab_size": 500, "n_positions": 40}
    theirs = GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    blocks = [
        Block(MultiHeadAttention(64, 4), MLP(64), nn.LayerNorm(64), nn.LayerNorm(64))
        for _ in range(3)
    ]
    ours = DecoderModel(500, 64, blocks, max_length=40, norm=nn.LayerNorm(64), tied=True)
    example("model/block/fresh")["initialise"](ours)
    first, other = ours.blocks[0], theirs.transformer.h[0]
    for mine, wanted in (
        (ours.token_embedding.weight, theirs.transformer.wte.weight),
        (ours.position_embedding.weight, theirs.transformer.wpe.weight),
        (first.attention.q_proj.weight, other.attn.c_attn.weight),
        (first.attention.out_proj.weight, other.attn.c_proj.weight),
        (first.mlp.up_proj.weight, other.mlp.c_fc.weight),
        (first.mlp.down_proj.weight, other.mlp.c_proj.weight),
    ):
        assert mine.std().item() == pytest.approx(wanted.std().item(), rel=0.06)
    assert not first.mlp.up_proj.bias.any()
    assert (first.mlp_norm.weight == 1).all()
