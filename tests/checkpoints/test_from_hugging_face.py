"""Layers of transformers as ours: equal outputs and gradients, and refusals by name."""

import copy
import functools
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

import attn_docs.checkpoints
from attn_docs import (
    GroupedQueryAttention,
    MultiHeadAttention,
    RotaryEmbedding,
    from_transformers,
    position_bias_from_transformers,
)
from attn_docs.checkpoints._config import copy_linear, rotary_of
from attn_docs.checkpoints._others import OTHERS
from attn_docs.checkpoints._separate import SEPARATE
from attn_docs.checkpoints.from_hugging_face import CONVERTERS
from tests.checkpoints.families import (
    FAMILIES,
    LENGTH,
    SIZES,
    WINDOW,
    Family,
    compare,
    padding,
    record,
    relative,
    tokens,
)
from tests.kit import error, load_exhibit, normal

families = pytest.mark.parametrize("name", FAMILIES)
SEPARATES = [name for name, family in FAMILIES.items() if family.layer in SEPARATE]
separates = pytest.mark.parametrize("name", SEPARATES)
# transformers prints that kernels are missing, and that a small model's factor is unusual
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


# --- equal ------------------------------------------------------------------------------------


@families
def test_it_equals_the_models_own_layers(name: str) -> None:
    found = compare(FAMILIES[name])
    assert found.whole < 1e-5
    assert (found.cached or 0.0) < 1e-5
    assert found.padded < 1e-5


def test_each_converter_has_a_family() -> None:
    assert {family.layer for family in FAMILIES.values()} == set(CONVERTERS)


def test_sizes_differ_and_texts_are_longer_than_windows() -> None:
    assert SIZES["head_dim"] != SIZES["hidden_size"] / SIZES["num_attention_heads"]
    assert LENGTH > 2 * WINDOW
    assert padding().sum() < padding().numel()


def seen(model: nn.Module, layer: nn.Module) -> tuple[Any, Any]:
    """Return the arguments that a layer gets in a run of its model."""
    found: list[tuple[Any, Any]] = []
    hook = lambda _, args, kwargs: found.append((args, kwargs))  # noqa: E731
    handle = layer.register_forward_pre_hook(hook, with_kwargs=True)
    with torch.no_grad():
        model(input_ids=tokens())
    handle.remove()
    return found[0]


@separates
def test_gradients_are_equal_in_float64(name: str) -> None:
    family = FAMILIES[name]
    model = family.build().double()
    theirs: Any = family.layers(model)[-1]
    ours: Any = from_transformers(theirs)
    args, kwargs = seen(model, theirs)
    start = kwargs.pop("hidden_states") if "hidden_states" in kwargs else args[0]
    kwargs.pop("past_key_values", None)
    one, other = (start.clone().requires_grad_() for _ in range(2))
    wanted = theirs(hidden_states=one, **kwargs)[0]
    found = ours(other, is_causal=True)
    direction = torch.randn(found.shape, dtype=torch.float64, generator=torch.manual_seed(3))
    (wanted * direction).sum().backward()
    (found * direction).sum().backward()
    assert relative(found, wanted) < 1e-5  # their cosines and norms are float32
    assert relative(other.grad, one.grad) < 1e-5
    for mine, its in (("k_proj", "k_proj"), ("out_proj", "o_proj")):
        grads = (getattr(ours, mine).weight.grad, getattr(theirs, its).weight.grad)
        assert relative(*grads) < 1e-5
    for part in ("q_norm", "k_norm"):
        norm = getattr(ours, part)
        if norm is not None:
            (gain,) = norm.parameters()
            assert relative(gain.grad, getattr(theirs, part).weight.grad) < 1e-5
    if hasattr(theirs, "sinks"):
        assert relative(ours.attend.sinks.grad, theirs.sinks.grad) < 1e-5


@separates
def test_in_bfloat16_it_is_as_exact_as_theirs(name: str) -> None:
    family = FAMILIES[name]
    model = family.build()
    layers = family.layers(model)
    x, right = record(model, layers, {"input_ids": tokens()})[-1]
    half: Any = layers[-1].bfloat16()
    args, kwargs = seen(model.bfloat16(), half)
    kwargs.pop("past_key_values", None)
    kwargs["hidden_states"] = x.bfloat16()
    with torch.no_grad():
        theirs = half(*args[1:], **kwargs)[0]
        ours = from_transformers(half)(x.bfloat16(), is_causal=True)
    assert ours.dtype == torch.bfloat16
    assert relative(ours.float(), right) < 1.5 * relative(theirs.float(), right) + 0.005


def test_a_model_with_our_layers_gives_the_same_logits() -> None:
    class Swapped(nn.Module):
        def __init__(self, layer: nn.Module) -> None:
            super().__init__()
            self.ours = from_transformers(layer)

        def forward(self, hidden_states: Tensor, **_: object) -> tuple[Tensor, None]:
            return self.ours(hidden_states, is_causal=True), None

    for name in ("Llama 3.1", "Gemma 2", "gpt-oss", "OLMo 2", "Qwen3-Next"):
        family = FAMILIES[name]
        model: Any = family.build()
        with torch.no_grad():
            right = model(input_ids=tokens()).last_hidden_state
            for block in model.layers:
                if hasattr(block, "self_attn"):
                    block.self_attn = Swapped(block.self_attn)
            found = model(input_ids=tokens()).last_hidden_state
        assert relative(found, right) < 1e-5, name


def test_heads_of_real_size_are_equal_at_far_positions() -> None:
    sizes = {"hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2}
    sizes |= {"head_dim": 128, "max_position_embeddings": 131072}
    rope = {"rope_type": "default", "rope_theta": 5e5}
    config = LlamaConfig(**sizes, rope_parameters=rope, attn_implementation="sdpa")
    theirs = LlamaAttention(config, layer_idx=0)
    torch.manual_seed(0)
    for weight in theirs.parameters():
        nn.init.normal_(weight, std=0.3)
    x, positions = torch.randn(2, 60, 42), 2000 * torch.arange(60)
    cos_sin = LlamaRotaryEmbedding(config)(x, positions[None])
    with torch.no_grad():
        right, _ = theirs(x, cos_sin, attention_mask=None)
        found = from_transformers(theirs)(x, is_causal=True, positions=positions)
    assert relative(found, right) < 1e-6


# --- copies -----------------------------------------------------------------------------------


@functools.cache
def built(name: str, number: int) -> nn.Module:
    """Return one attention layer of a family's small model, to be copied."""
    return FAMILIES[name].layers(FAMILIES[name].build())[number]


def layer_of(name: str, number: int = -1, **changed: Any) -> Any:
    """Return an attention layer of a family's small model."""
    if not changed:
        return copy.deepcopy(built(name, number))
    family = FAMILIES[name]
    return family.layers(family.build(**changed))[number]


@separates
def test_nothing_in_ours_is_left_random_and_nothing_of_theirs_is_left_out(name: str) -> None:
    theirs = layer_of(name)
    torch.manual_seed(0)
    first = from_transformers(theirs).state_dict()
    torch.manual_seed(1)
    second = from_transformers(theirs).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)
    for parameter in theirs.parameters():
        with torch.no_grad():
            parameter.add_(1.0)
        changed = from_transformers(theirs).state_dict()
        assert any(not torch.equal(first[key], changed[key]) for key in first)
        with torch.no_grad():
            parameter.sub_(1.0)


@separates
def test_it_shares_no_memory_with_theirs(name: str) -> None:
    theirs = layer_of(name)
    before = copy.deepcopy(theirs.state_dict())
    with torch.no_grad():
        for parameter in from_transformers(theirs).parameters():
            parameter.zero_()
    assert all(torch.equal(before[key], value) for key, value in theirs.state_dict().items())


def test_dtype_mode_dropout_and_frozen_weights_are_copied() -> None:
    theirs = layer_of("Qwen2", attention_dropout=0.25).double().train()
    theirs.k_proj.weight.requires_grad_(False)
    ours: Any = from_transformers(theirs)
    assert ours.training
    assert ours.dropout == 0.25
    assert {value.dtype for value in ours.state_dict().values()} == {torch.float64}
    assert not ours.k_proj.weight.requires_grad
    assert ours.q_proj.weight.requires_grad
    assert not from_transformers(theirs.eval()).training


def test_values_that_are_keys_stay_one_parameter() -> None:
    theirs = layer_of("Gemma 4")  # a global layer
    assert theirs.v_proj is None
    ours: Any = from_transformers(theirs)
    assert ours.v_proj.weight is ours.k_proj.weight


def test_a_config_may_be_given() -> None:
    theirs = layer_of("Llama 3")
    config = FAMILIES["Llama 3.1"].make_config()
    ours: Any = from_transformers(theirs, config)
    assert type(ours.rotary.scaling).__name__ == "Llama3Scaling"


def test_what_is_usual_is_not_spelled_out() -> None:
    ours: Any = from_transformers(layer_of("Llama 3.1"))
    assert isinstance(ours, MultiHeadAttention)
    assert ours.scale is None
    assert ours.window is None
    assert attn_docs.checkpoints.from_transformers is from_transformers


# --- refused ----------------------------------------------------------------------------------

ANY = {  # of every family with rotary positions: what the config is changed to, and what is named
    "longrope": ({"rope_type": "longrope"}, "rope_type must be one of"),
    "unknown rule": ({"rope_type": "ntk-by-parts"}, "rope_type must be one of"),
    "sections": ({"mrope_section": [2, 2, 1]}, "mrope_section must be absent"),
    "alpha": ({"alpha": 1000.0}, "alpha must be absent"),
}


def with_rope(config: Any, **changed: Any) -> Any:
    """Change each dictionary of rotary options of a config."""
    given = config.rope_parameters
    for one in given.values() if any(isinstance(v, dict) for v in given.values()) else [given]:
        one.update(changed)
    return config


@separates
@pytest.mark.parametrize("option", ANY)
def test_rotary_options_that_are_not_held_are_refused(name: str, option: str) -> None:
    changed, message = ANY[option]
    theirs = layer_of(name, 0)
    with_rope(theirs.config, **changed)
    with pytest.raises(ValueError, match=message):
        from_transformers(theirs)


@separates
def test_part_of_a_head_is_refused_where_the_layers_ignore_it(name: str) -> None:
    theirs = layer_of(name, 0)
    with_rope(theirs.config, partial_rotary_factor=0.5)
    if name == "Qwen3-Next":
        ours: Any = from_transformers(theirs)
        assert ours.rotary.rotary_dim == ours.head_dim // 2
    else:
        with pytest.raises(ValueError, match="partial_rotary_factor must be 1"):
            from_transformers(theirs)


UNKNOWN = {
    "attn_temperature_tuning": True,
    "attention_chunk_size": 8192,
    "clip_qkv": 8.0,
    "use_bidirectional_attention": True,
    "softcap_of_next_year": 20.0,
    "qk_layernorm": True,
    "is_causal": False,
}


@separates
@pytest.mark.parametrize("option", UNKNOWN)
@pytest.mark.parametrize("place", ["config", "layer"])
def test_an_option_about_attention_that_no_converter_knows_is_refused(
    name: str, option: str, place: str
) -> None:
    theirs = layer_of(name, 0)
    vars(theirs.config if place == "config" else theirs)[option] = UNKNOWN[option]  # unchecked
    with pytest.raises(ValueError, match=rf"^{option} must be .*; got {UNKNOWN[option]!r}$"):
        from_transformers(theirs)


@pytest.mark.parametrize("layer", OTHERS)
@pytest.mark.parametrize("option", ["attn_temperature_tuning", "softcap_of_next_year", "is_causal"])
def test_it_is_refused_in_other_layouts_too(layer: str, option: str) -> None:
    name = next(name for name, family in FAMILIES.items() if family.layer == layer)
    config = FAMILIES[name].make_config()
    vars(config)[option] = UNKNOWN[option]
    with pytest.raises(ValueError, match=rf"^{option} must be .*; got {UNKNOWN[option]!r}$"):
        from_transformers(layer_of(name, 0), config)
    if option != "is_causal":  # which is False in a layer that looks both ways
        theirs = layer_of(name, 0)
        setattr(theirs, option, UNKNOWN[option])
        with pytest.raises(ValueError, match=f"^{option} must be "):
            from_transformers(theirs, FAMILIES[name].make_config())


@separates
def test_a_parameter_that_no_converter_knows_is_refused(name: str) -> None:
    theirs = layer_of(name, 0)
    theirs.register_parameter("temperature", nn.Parameter(torch.ones(6)))
    with pytest.raises(ValueError, match=r"^temperature must be absent.*; got \(6,\)$"):
        from_transformers(theirs)


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "OLMo": ("OLMo", {"clip_qkv": 6.0}, r"clip_qkv must be None or False; got 6\.0"),
    "Gemma": ("Gemma", {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
    "Gemma 2": ("Gemma 2", {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
    "Gemma 3": ("Gemma 3", {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
    "Gemma 3, cap": ("Gemma 3", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping"),
    "Gemma 4": ("Gemma 4", {"use_bidirectional_attention": "all"}, "use_bidirectional_attention"),
    "Gemma 4, shared": ("Gemma 4", {"num_kv_shared_layers": 2}, "is_kv_shared_layer"),
    "SmolLM3": (
        "SmolLM3",
        {"layer_types": ["sliding_attention"] * 4, "sliding_window": 7},
        "layer_types must be full_attention in a layer without a window",
    ),
    "chunked": ("Qwen2", {"layer_types": ["chunked_attention"] * 4}, "layer_types must be full"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_option_of_a_family_is_refused_by_name(case: str) -> None:
    name, changed, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        from_transformers(layer_of(name, **changed))


def test_another_layer_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"CohereAttention.*LlamaAttention.*; got Linear$"):
        from_transformers(nn.Linear(2, 2))
    with pytest.raises(TypeError, match="module must be a Module; got str"):
        from_transformers("meta-llama/Llama-3.1-8B")  # type: ignore[arg-type]
    llama4 = Family(
        "Llama4TextModel",
        "Llama4TextAttention",
        {"num_local_experts": 2, "num_experts_per_tok": 1, "intermediate_size_mlp": 20},
        config="Llama4TextConfig",
    )
    with pytest.raises(ValueError, match=r"got Llama4TextAttention$"):
        from_transformers(llama4.layers(llama4.build())[0])
    assert list(CONVERTERS) == list(dict.fromkeys(CONVERTERS))


@pytest.mark.parametrize("convert", [from_transformers, position_bias_from_transformers])
def test_a_forks_class_of_a_known_name_is_refused(convert: Any) -> None:
    name = "Llama 3" if convert is from_transformers else "BLOOM"
    theirs = layer_of(name)
    known = type(theirs).__name__
    for place in ("transformers_modules.their_fork.modeling_llama", "transformers", "__main__"):
        theirs.__class__ = type(known, (type(theirs),), {"__module__": place})
        with pytest.raises(ValueError, match=rf"transformers' own class {known}; got {place}\."):
            convert(theirs)


def test_what_their_class_does_not_read_changes_neither_layer() -> None:
    family = FAMILIES["Llama 3"]
    plain, model = family.build(), family.build(logn=True, nope_every=2)
    assert model.config.logn
    x, right = record(model, family.layers(model), {"input_ids": tokens()})[-1]
    assert right.equal(record(plain, family.layers(plain), {"input_ids": tokens()})[-1].output)
    with torch.no_grad():
        found = from_transformers(family.layers(model)[-1])(x, is_causal=True)
    assert relative(found, right) < 1e-6


def test_gemma_4_is_as_far_from_float64_as_ours() -> None:
    family = FAMILIES["Gemma 4"]
    layer = family.layers(family.build())[-1]
    x, theirs = record(model := family.build(), family.layers(model), {"input_ids": tokens()})[-1]
    with torch.no_grad():
        ours = from_transformers(layer)(x, is_causal=True)
        exact = from_transformers(layer.double())(x.double(), is_causal=True)
    assert relative(ours, theirs) < 1e-6
    for found in (ours, theirs):
        assert 1.5e-6 < relative(found.double(), exact) < 5e-6


def test_a_layer_that_says_other_than_its_config_is_refused() -> None:
    theirs = layer_of("Gemma 2", 0)
    theirs.sliding_window = WINDOW + 1
    with pytest.raises(ValueError, match="sliding_window must be the same in the layer"):
        from_transformers(theirs)
    theirs = layer_of("Llama 3")
    theirs.num_key_value_groups = 2
    with pytest.raises(ValueError, match="num_key_value_groups must be 3; got 2"):
        from_transformers(theirs)
    theirs = layer_of("Llama 3")
    theirs.config = None
    with pytest.raises(ValueError, match="config must be given for LlamaAttention; got None"):
        from_transformers(theirs)


def test_quantised_and_adapted_weights_are_refused() -> None:
    theirs = layer_of("Llama 3")
    eighth = theirs.q_proj.weight.to(torch.int8)
    theirs.q_proj.weight = nn.Parameter(eighth, requires_grad=False)
    with pytest.raises(
        TypeError, match=r"weight must be floating-point, not quantised; got torch\.int8"
    ):
        from_transformers(theirs)
    theirs = layer_of("Llama 3")
    theirs.lora_A = nn.Linear(36, 2, bias=False)
    with pytest.raises(ValueError, match=r"lora_A\.weight must be absent"):
        from_transformers(theirs)
    theirs = layer_of("Llama 3")
    theirs.k_proj = nn.Linear(36, 10, bias=False)  # one KV head where the config says two
    with pytest.raises(ValueError, match="num_key_value_groups must be 6; got 3"):
        from_transformers(theirs)


# --- the shared parts -------------------------------------------------------------------------


def test_a_linear_layer_takes_only_what_fits() -> None:
    with pytest.raises(ValueError, match=r"weight must be \(3, 2\); got \(2, 3\)"):
        copy_linear(nn.Linear(2, 3), torch.zeros(2, 3), torch.zeros(3))
    with pytest.raises(ValueError, match=r"bias must be a tensor; got None"):
        copy_linear(nn.Linear(2, 3), torch.zeros(3, 2))
    with pytest.raises(ValueError, match=r"bias must be None; got \(3,\)"):
        copy_linear(nn.Linear(2, 3, bias=False), torch.zeros(3, 2), torch.zeros(3))
    with pytest.raises(ValueError, match=r"bias must be \(3,\); got \(2,\)"):
        copy_linear(nn.Linear(2, 3), torch.zeros(3, 2), torch.zeros(2))


class Config:
    """A config with rotary options."""

    max_position_embeddings = 64

    def __init__(self, **options: Any) -> None:
        self.rope_parameters = options


def test_a_config_without_positions_has_none() -> None:
    assert rotary_of(Config(), 8) is None
    assert rotary_of(object(), 8) is None
    assert (
        rotary_of(Config(full_attention=None, sliding_attention={}), 8, layer_type="full_attention")
        is None
    )


def test_options_of_rules_are_checked() -> None:
    old = Config()
    old.rope_parameters = None  # type: ignore[assignment]
    old.rope_scaling = {"type": "linear"}  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="rope_parameters must be a dict, as in transformers 5"):
        rotary_of(old, 8)
    with pytest.raises(ValueError, match="factor must be a number with rope_type 'linear'"):
        rotary_of(Config(rope_type="linear", rope_theta=1e4), 8)
    with pytest.raises(ValueError, match="original_max_position_embeddings must be an int"):
        rotary_of(Config(rope_type="yarn", rope_theta=1e4, factor=2.0), 8)
    by_type = Config(
        full_attention={"rope_type": "default", "rope_theta": 1e6},
        sliding_attention={
            "rope_type": "yarn",
            "rope_theta": 1e4,
            "factor": 2.0,
            "original_max_position_embeddings": 16,
            "truncate": False,
        },
    )
    with pytest.raises(ValueError, match="truncate must be True by layer type"):
        rotary_of(by_type, 8, layer_type="sliding_attention")
    with pytest.raises(ValueError, match="rope_parameters must be given for layer type None"):
        rotary_of(by_type, 8)
    longest = Config(rope_type="dynamic", rope_theta=1e4, factor=2.0)
    longest.max_position_embeddings = None  # type: ignore[assignment]
    with pytest.raises(ValueError, match="max_position_embeddings must be an int"):
        rotary_of(longest, 8)


RULES: dict[str, dict[str, Any]] = {
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 4.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 16},
    "yarn, mscale": {
        "factor": 4.0,
        "original_max_position_embeddings": 16,
        "mscale": 0.7,
        "mscale_all_dim": 1.0,
    },
    "yarn, one mscale": {"factor": 4.0, "original_max_position_embeddings": 16, "mscale": 0.7},
    "yarn, factor": {
        "factor": 4.0,
        "original_max_position_embeddings": 16,
        "attention_factor": 1.3,
    },
    "yarn, no factor": {"factor": None, "original_max_position_embeddings": 16},
    "proportional": {"partial_rotary_factor": 0.5},
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_read_as_llama_reads_it(rule: str) -> None:
    family = FAMILIES["Llama 3"]
    options = {"rope_type": rule.partition(",")[0], "rope_theta": 1e4, **RULES[rule]}
    model = family.build(rope_parameters=options)
    layers = family.layers(model)
    x, right = record(model, layers, {"input_ids": tokens()})[0]
    with torch.no_grad():
        assert relative(from_transformers(layers[0])(x, is_causal=True), right) < 1e-5


# --- exhibits ---------------------------------------------------------------------------------

MENDED = {
    "fused_by_kind": ("(3, num_heads, -1))", "(num_heads, 3, -1)).transpose(0, 1)"),
    "biases_dropped": ('{"bias": False}', '{"qkv_bias": True, "out_bias": False}'),
    "gain_without_one": ("gain = weight", "gain = 1.0 + weight"),
    "scale_of_head_dim": ('"head_dim"', '"query_pre_attn_scalar"'),
}


def exhibited(name: str, module: ModuleType) -> tuple[Tensor, Tensor]:
    """Return what an exhibit finds, and what the converted layer has."""
    if name == "fused_by_kind":
        theirs = layer_of("GPT-NeoX")
        ours: Any = from_transformers(theirs)
        wanted = torch.cat([part.weight for part in (ours.q_proj, ours.k_proj, ours.v_proj)])
        return torch.cat(module.split(theirs.query_key_value.weight, 3)), wanted
    x = normal(2, LENGTH, 36, dtype=torch.float32)
    if name == "biases_dropped":
        theirs = layer_of("Qwen2", 0)  # without a window
        ours = from_transformers(theirs)
        sizes = {"head_dim": 10}
        state = {key.replace("o_proj", "out_proj"): v for key, v in theirs.state_dict().items()}
        module.GroupedQueryAttention = functools.partial(GroupedQueryAttention, **sizes)
        loaded = module.load(state, 36, 6, 2, RotaryEmbedding(10))
        return loaded(x, is_causal=True), ours(x, is_causal=True)
    if name == "gain_without_one":
        heads = normal(2, 3, LENGTH, 10, dtype=torch.float32)
        norm = layer_of("Gemma 3").q_norm
        return module.norm(norm.weight, norm.eps)(heads), norm(heads)
    theirs = layer_of("Gemma 2")
    return torch.tensor(module.scale(vars(theirs.config))), torch.tensor(theirs.scaling)


@pytest.mark.parametrize("name", MENDED)
def test_an_exhibit_is_wrong_in_its_marked_line_alone(name: str) -> None:
    with torch.no_grad():
        for mended in (False, True):
            module = load_exhibit(f"checkpoints/{name}", MENDED[name], mended=mended)
            found, wanted = exhibited(name, module)
            assert (error(found, wanted) < 1e-5) == mended
