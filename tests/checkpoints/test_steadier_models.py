"""The six against layers of transformers, with random weights: values and gradients."""

import functools

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers import (
    DiffLlamaConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GptOssConfig,
    GraniteSWAConfig,
    Olmo2Config,
    Qwen3Config,
    Qwen3NextConfig,
)
from transformers.models.diffllama.modeling_diffllama import DiffLlamaAttention
from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention
from transformers.models.gemma3.modeling_gemma3 import Gemma3Attention
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention
from transformers.models.granite_swa.modeling_granite_swa import GraniteSWAAttention
from transformers.models.olmo2.modeling_olmo2 import Olmo2Attention
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

from attn_docs import (
    AcrossHeads,
    DifferentialAttention,
    GroupedQueryAttention,
    RotaryEmbedding,
    SinkAttention,
    softcap_attention,
)
from tests.kit import error, normal

EMBED, H, G, D, N = 20, 4, 2, 6, 7
SIZES = {
    "hidden_size": EMBED,
    "num_attention_heads": H,
    "num_key_value_heads": G,
    "head_dim": D,
    "attn_implementation": "eager",
    "attention_bias": False,
}
BIASES = {"bias": False, "rotary": RotaryEmbedding(D)}


def randomised(layer: nn.Module) -> nn.Module:
    """Return a layer in float64 with weights that make scores matter."""
    torch.manual_seed(0)
    layer = layer.double().eval()
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    return layer


def theirs(layer: nn.Module, x: Tensor) -> Tensor:
    """Call a layer of transformers with half-split rotary angles and a causal mask."""
    angles = torch.arange(N)[:, None] * 10000.0 ** (-torch.arange(0, D, 2).double() / D)
    if not isinstance(layer, GptOssAttention):  # which takes those of half a head
        angles = torch.cat((angles, angles), -1)
    angles = angles[None]
    hidden = torch.ones(N, N, dtype=torch.bool).triu(1)
    mask = torch.zeros(1, 1, N, N, dtype=x.dtype).masked_fill(hidden, float("-inf"))
    output: Tensor = layer(
        x, position_embeddings=(angles.cos(), angles.sin()), attention_mask=mask
    )[0]
    return output


def loaded(ours: GroupedQueryAttention, layer: nn.Module, names: dict[str, str]) -> None:
    """Load their weights under our names."""
    state = {}
    for name, weight in layer.state_dict().items():
        for old, new in {"o_proj": "out_proj", **names}.items():
            name = name.replace(old, new) if name.startswith(old) else name  # noqa: PLW2901
        state[name] = weight
    ours.load_state_dict(state)


def assert_same(ours: GroupedQueryAttention, layer: nn.Module, *, tolerance: float = 1e-11) -> None:
    """Compare output and the gradients of input and of the matrices that both have."""
    x = normal(2, N, EMBED).requires_grad_()
    weight = normal(2, N, EMBED, seed=5)
    pairs = []
    shared = ("k_proj", "v_proj")
    for module, found in ((ours, ours(x, is_causal=True)), (layer, theirs(layer, x))):
        given = (x, *(getattr(module, name).weight for name in shared))
        pairs.append((found, *torch.autograd.grad((found * weight).sum(), given)))
    for mine, other in zip(*pairs, strict=True):
        assert error(mine, other) <= tolerance * max(1.0, other.abs().max().item())


def test_gemma_2_caps_its_scores() -> None:
    config = Gemma2Config(**SIZES, query_pre_attn_scalar=9, attn_logit_softcapping=1.5)
    layer = randomised(Gemma2Attention(config, 1))
    attend = functools.partial(softcap_attention, softcap=1.5)
    ours = GroupedQueryAttention(EMBED, H, G, head_dim=D, scale=1 / 3, attend=attend, **BIASES)
    loaded(ours.double(), layer, {})
    assert_same(ours, layer, tolerance=1e-6)  # its softmax is in float32


@pytest.mark.parametrize("model", ["qwen3", "gemma3"])
def test_qwen_3_and_gemma_3_normalise_each_head(model: str) -> None:
    if model == "qwen3":
        config, kind, plus = Qwen3Config(**SIZES, rms_norm_eps=1e-6), Qwen3Attention, 0
    else:
        config, plus = Gemma3TextConfig(**SIZES, query_pre_attn_scalar=D), 1
        kind = Gemma3Attention
    layer = randomised(kind(config, 0))
    norms = {"q_norm": nn.RMSNorm(D, eps=1e-6), "k_norm": nn.RMSNorm(D, eps=1e-6)}
    ours = GroupedQueryAttention(EMBED, H, G, head_dim=D, **norms, **BIASES).double()
    loaded(ours, layer, {})
    for norm in (ours.q_norm, ours.k_norm):
        norm.weight.data += plus  # Gemma multiplies by 1 + gain
    assert_same(ours, layer, tolerance=1e-5)  # norm and softmax are in float32


def test_olmo_2_normalises_across_heads() -> None:
    layer = randomised(Olmo2Attention(Olmo2Config(**SIZES, rms_norm_eps=1e-6), 0))
    norms = {
        "q_norm": AcrossHeads(nn.RMSNorm(H * D, eps=1e-6)),
        "k_norm": AcrossHeads(nn.RMSNorm(G * D, eps=1e-6)),
    }
    ours = GroupedQueryAttention(EMBED, H, G, head_dim=D, **norms, **BIASES).double()
    loaded(ours, layer, {"q_norm": "q_norm.norm", "k_norm": "k_norm.norm"})
    assert_same(ours, layer, tolerance=1e-5)
    wrong = {"q_norm": nn.RMSNorm(D, eps=1e-6), "k_norm": nn.RMSNorm(D, eps=1e-6)}
    headwise = GroupedQueryAttention(EMBED, H, G, head_dim=D, **wrong, **BIASES).double()
    headwise.load_state_dict(ours.state_dict(), strict=False)
    with pytest.raises(AssertionError):
        assert_same(headwise, layer, tolerance=1e-2)


def test_gpt_oss_has_sinks() -> None:
    layer = randomised(GptOssAttention(GptOssConfig(**SIZES), 1))
    ours = GroupedQueryAttention(EMBED, H, G, head_dim=D, attend=SinkAttention(H), **BIASES)
    loaded(ours.double(), layer, {"sinks": "attend.sinks"})
    x = normal(2, N, EMBED)
    assert_same_sinks(ours, layer, x)
    assert_same(ours, layer, tolerance=1e-6)


def test_granite_has_the_same_sinks_as_a_gate_of_the_log_sum_exp() -> None:
    config = GraniteSWAConfig(**SIZES, attention_multiplier=0.4)
    layer = randomised(GraniteSWAAttention(config, 0))
    ours = GroupedQueryAttention(
        EMBED, H, G, head_dim=D, scale=0.4, attend=SinkAttention(H), **BIASES
    )
    loaded(ours.double(), layer, {"sinks": "attend.sinks"})
    assert_same_sinks(ours, layer, normal(2, N, EMBED))


def assert_same_sinks(ours: GroupedQueryAttention, layer: nn.Module, x: Tensor) -> None:
    """Compare outputs and the gradients of the sinks."""
    weight = normal(2, N, EMBED, seed=5)
    mine, other = ours(x, is_causal=True), theirs(layer, x)
    assert error(mine, other) <= 1e-5
    (found,) = torch.autograd.grad((mine * weight).sum(), ours.attend.sinks)
    (wanted,) = torch.autograd.grad((other * weight).sum(), layer.sinks)
    assert error(found, wanted) <= 1e-5 * wanted.abs().max()


def test_qwen_3_next_has_a_gate_whose_rows_stand_between_the_queries() -> None:
    config = Qwen3NextConfig(**SIZES, rms_norm_eps=1e-6)
    layer = randomised(Qwen3NextAttention(config, 3))
    norms = {"q_norm": nn.RMSNorm(D, eps=1e-6), "k_norm": nn.RMSNorm(D, eps=1e-6)}
    gate = nn.Linear(EMBED, H * D, bias=False)
    ours = GroupedQueryAttention(EMBED, H, G, head_dim=D, gate=gate, **norms, **BIASES).double()
    state = dict(layer.state_dict())
    query, gated = state.pop("q_proj.weight").view(H, 2, D, EMBED).unbind(1)
    state["q_proj.weight"], state["gate.weight"] = query.flatten(0, 1), gated.flatten(0, 1)
    state["out_proj.weight"] = state.pop("o_proj.weight")
    state["q_norm.weight"] = state["q_norm.weight"] + 1
    state["k_norm.weight"] = state["k_norm.weight"] + 1
    ours.load_state_dict(state)
    assert_same(ours, layer, tolerance=1e-5)


def test_diff_llama_subtracts_pairs() -> None:
    config = DiffLlamaConfig(**SIZES, rms_norm_eps=1e-5)
    layer = randomised(DiffLlamaAttention(config, 2))
    attend = DifferentialAttention(D, layer.lambda_init)
    ours = GroupedQueryAttention(EMBED, H, G, head_dim=D, attend=attend, **BIASES).double()
    loaded(ours, layer, {"lambda": "attend.lambda"})
    assert_same(ours, layer, tolerance=1e-5)
    x = normal(2, N, EMBED)
    weight = normal(2, N, EMBED, seed=5)
    names = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")
    mine = torch.autograd.grad(
        (ours(x, is_causal=True) * weight).sum(), [getattr(attend, name) for name in names]
    )
    other = torch.autograd.grad(
        (theirs(layer, x) * weight).sum(), [getattr(layer, name) for name in names]
    )
    for found, wanted in zip(mine, other, strict=True):
        assert error(found, wanted) <= 1e-5 * max(1.0, wanted.abs().max().item())


@pytest.mark.parametrize("model", ["GptOss", "MiMoV2Flash", "GraniteSWA"])
def test_classes_with_sinks_refuse_sdpa(model: str) -> None:
    assert not getattr(transformers, f"{model}Model")._supports_sdpa


def test_gemma_3_stores_a_cap_and_never_reads_it() -> None:
    layers = [
        Gemma3Attention(
            Gemma3TextConfig(**SIZES, query_pre_attn_scalar=D, attn_logit_softcapping=cap), 0
        )
        for cap in (0.01, None)
    ]
    assert layers[0].attn_logit_softcapping == 0.01
    first, second = (theirs(randomised(layer), normal(2, N, EMBED)) for layer in layers)
    assert torch.equal(first, second)


@pytest.mark.parametrize(
    ("option", "kept"),
    [
        ({"q_norm": nn.RMSNorm(D)}, "q_norm.weight"),
        ({"attend": SinkAttention(H)}, "attend.sinks"),
        ({"gate": nn.Linear(EMBED, H)}, "gate.weight"),
        ({"attend": DifferentialAttention(D)}, "attend.lambda_q1"),
        ({"attend": functools.partial(softcap_attention, softcap=50.0)}, None),
        ({"scale": 0.1}, None),
    ],
)
def test_a_strict_load_misses_a_cap_and_a_scale_alone(
    option: dict[str, object], kept: str | None
) -> None:
    having, lacking = (
        GroupedQueryAttention(EMBED, H, G, head_dim=D, **with_it) for with_it in (option, {})
    )
    if kept is None:
        lacking.load_state_dict(having.state_dict())
    else:
        with pytest.raises(RuntimeError, match=kept):
            lacking.load_state_dict(having.state_dict())
