"""Whole models from config.json against transformers' and a loop; folders, refusals, exhibits."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from attn_docs import decoder_from_config, load_decoder, rename_weights
from attn_docs.checkpoints import tiny_qwen3
from attn_docs.model import DecoderModel, describe_weights
from attn_docs.model.__main__ import COMMAND
from attn_docs.model.language_model import (
    HELD_OUT,
    continue_text,
    decode,
    encode,
    least_nats,
    nats_by_kind,
    tell_stories,
)
from tests.kit import error, load_exhibit, off

SIZES: dict[str, Any] = {
    "vocab_size": 61, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3,
    "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
}  # fmt: skip
MIXED = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0}
LLAMA3 |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
YARN = {"rope_type": "yarn", "rope_theta": 5e5, "factor": 4.0}
YARN |= {"original_max_position_embeddings": 16}
LINEAR = {"rope_type": "linear", "rope_theta": 1e6, "factor": 3.0}
QWEN3: dict[str, Any] = {"model_type": "qwen3", **SIZES, "head_dim": 16}
QWEN3 |= {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
QWEN3 |= {"use_sliding_window": True, "sliding_window": 5, **MIXED}
CASES: dict[str, dict[str, Any]] = {
    "qwen3 mixed": QWEN3,
    "qwen3 full": QWEN3 | {"use_sliding_window": False, "layer_types": None},
    "qwen3 tied, biases": QWEN3 | {"tie_word_embeddings": True, "attention_bias": True},
    "qwen3 yarn": QWEN3 | {"rope_parameters": YARN},
    "qwen2 late windows": {"model_type": "qwen2", **SIZES, "use_sliding_window": True}
    | {"sliding_window": 4, "max_window_layers": 1},
    "llama 3.1": {"model_type": "llama", **SIZES, "rope_parameters": LLAMA3},
    "llama biases": {"model_type": "llama", **SIZES, "attention_bias": True, "mlp_bias": True},
    "llama linear": {"model_type": "llama", **SIZES, "rope_parameters": LINEAR},
    "mistral window": {"model_type": "mistral", **SIZES, "sliding_window": 3},
    "mistral none": {"model_type": "mistral", **SIZES, "sliding_window": None, "head_dim": 12},
}
CLASSES = {
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM),
}
every_case = pytest.mark.parametrize("name", CASES)


def theirs_of(config: dict[str, Any]) -> Any:
    """Return transformers' model with random weights so large that scores differ."""
    make_config, make_model = CLASSES[config["model_type"]]
    given = {key: value for key, value in config.items() if key != "model_type"}
    torch.manual_seed(0)
    model = make_model(make_config(**given, initializer_range=0.3)).eval()
    for weight in model.parameters():
        if weight.ndim == 1:  # norms start as ones and biases as zeros
            weight.data += 0.3 * torch.randn_like(weight)
    return model


def text_of(length: int = 23, batch: int = 2) -> Tensor:
    """Return random tokens."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(SIZES["vocab_size"], (batch, length), generator=generator)


def random_model(config: dict[str, Any], dtype: torch.dtype = torch.float64) -> DecoderModel:
    """Return our model with random weights, norms and biases too."""
    torch.manual_seed(0)
    model = decoder_from_config(config).to(dtype).eval()
    for weight in model.parameters():
        weight.data += 0.3 * torch.randn_like(weight)
    return model


# --- against transformers ---------------------------------------------------------------------


@every_case
def test_a_folder_that_transformers_wrote_gives_its_logits_and_its_text(
    name: str, tmp_path: Path
) -> None:
    theirs, tokens = theirs_of(CASES[name]), text_of()
    theirs.save_pretrained(tmp_path, max_shard_size="40KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    ours = load_decoder(tmp_path)
    assert not ours.training
    wanted = theirs(tokens).logits
    assert off(ours(tokens), wanted) <= 1e-5
    for sizes in ([1] * 23, [9, 1, 6, 1, 1, 5]):
        caches = ours.new_caches(2, 23)
        chunks = [ours(chunk, caches=caches) for chunk in tokens.split(sizes, dim=1)]
        assert off(torch.cat(chunks, dim=1), wanted) <= 1e-5
    options = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    mask = torch.ones_like(tokens)
    written = theirs.generate(tokens, attention_mask=mask, max_new_tokens=20, **options)
    assert ours.generate(tokens, 20).equal(written)


@pytest.mark.parametrize("name", ["qwen3 mixed", "qwen3 tied, biases", "llama 3.1"])
def test_gradients_are_those_of_transformers(name: str) -> None:
    theirs, tokens = theirs_of(CASES[name]), text_of()
    ours = decoder_from_config(CASES[name])
    ours.load_state_dict(rename_weights(theirs.state_dict()))
    for model, logits in ((theirs, theirs(tokens).logits), (ours, ours(tokens))):
        F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()).backward()
        assert model is not None
    wanted = {name: weight.grad for name, weight in theirs.named_parameters()}
    found = {name: weight.grad for name, weight in ours.named_parameters()}
    assert set(rename_weights(wanted)) == set(found)
    for each, gradient in rename_weights(wanted).items():
        assert off(found[each], gradient) <= 1e-4, each


def test_the_three_ways_to_write_a_rotary_rule_are_one() -> None:
    plain = {key: value for key, value in QWEN3.items() if key != "rope_parameters"}
    rule = {key: value for key, value in YARN.items() if key != "rope_theta"}
    old = rule | {"type": "yarn"}
    del old["rope_type"]
    ways = (
        {"rope_parameters": YARN},
        {"rope_theta": 5e5, "rope_scaling": rule},
        {"rope_theta": 5e5, "rope_scaling": old, "rope_parameters": None},
    )
    logits = [random_model(plain | way)(text_of()) for way in ways]
    assert logits[0].equal(logits[1])
    assert logits[0].equal(logits[2])
    assert error(logits[0], random_model(plain | {"rope_theta": 5e5})(text_of())) > 0.01


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_without_layer_types_windows_begin_where_transformers_begins(first: int) -> None:
    config = CASES["qwen2 late windows"] | {"max_window_layers": first}
    kinds = theirs_of(config).config.layer_types
    wanted = [4 if kind == "sliding_attention" else None for kind in kinds]
    assert [block.attention.window for block in decoder_from_config(config).blocks] == wanted
    assert wanted.count(4) == 3 - first


def test_without_theta_or_trained_length_they_are_what_transformers_takes() -> None:
    bare = {"model_type": "llama", **SIZES}
    assert theirs_of(bare).config.rope_parameters["rope_theta"] == 10000.0
    assert decoder_from_config(bare).blocks[0].attention.rotary.theta == 10000.0
    short = {key: value for key, value in YARN.items() if not key.startswith("original")}
    config = bare | {"rope_parameters": short}
    ours, theirs = decoder_from_config(config), theirs_of(config)
    ours.load_state_dict(rename_weights(theirs.state_dict()))
    assert off(ours(text_of()), theirs(text_of()).logits) <= 1e-5


# --- against a loop ---------------------------------------------------------------------------


def by_hand(model: DecoderModel, config: dict[str, Any], tokens: Tensor) -> Tensor:
    """Compute a Qwen3 of one text, position by position and head by head."""
    state = dict(model.named_parameters())
    heads, group, size = 6, 3, config["head_dim"]
    theta, eps = config["rope_parameters"]["rope_theta"], config["rms_norm_eps"]

    def norm(x: Tensor, weight: Tensor) -> Tensor:
        return x / ((x * x).sum() / len(x) + eps).sqrt() * weight

    def rotated(x: Tensor, place: int) -> Tensor:
        out = [x[0]] * size
        for i in range(size // 2):
            angle = place * theta ** (-2 * i / size)
            cos, sin = math.cos(angle), math.sin(angle)
            out[i] = x[i] * cos - x[i + size // 2] * sin
            out[i + size // 2] = x[i + size // 2] * cos + x[i] * sin
        return torch.stack(out)

    rows = [state["token_embedding.weight"][token] for token in tokens.tolist()]
    for layer, kind in enumerate(config["layer_types"]):
        w = {name.split(".", 2)[2]: x for name, x in state.items() if f"blocks.{layer}." in name}
        queries, keys, values = [], [], []
        for place, row in enumerate(rows):
            x = norm(row, w["attention_norm.weight"])
            q = (w["attention.q_proj.weight"] @ x).split(size)
            k = (w["attention.k_proj.weight"] @ x).split(size)
            values.append((w["attention.v_proj.weight"] @ x).split(size))
            queries.append([rotated(norm(h, w["attention.q_norm.weight"]), place) for h in q])
            keys.append([rotated(norm(h, w["attention.k_norm.weight"]), place) for h in k])
        for place, row in enumerate(rows):
            first = place - config["sliding_window"] + 1 if kind == "sliding_attention" else 0
            seen, mixed = range(max(0, first), place + 1), []
            for head in range(heads):
                scores = [queries[place][head] @ keys[s][head // group] for s in seen]
                weights = (torch.stack(scores) / size**0.5).softmax(0)
                parts = zip(weights, seen, strict=True)
                mixed.append(sum(a * values[s][head // group] for a, s in parts))
            x = row + w["attention.out_proj.weight"] @ torch.cat(mixed)
            y = norm(x, w["mlp_norm.weight"])
            gate = w["mlp.gate_proj.weight"] @ y
            hidden = gate / (1 + (-gate).exp()) * (w["mlp.up_proj.weight"] @ y)
            rows[place] = x + w["mlp.down_proj.weight"] @ hidden
    last = [norm(row, state["norm.weight"]) for row in rows]
    return torch.stack(last) @ state["output.weight"].T


def test_it_is_the_loop_over_positions_and_heads_in_values_and_gradients() -> None:
    model, tokens = random_model(QWEN3), text_of(13, 1)[0]
    found, wanted = model(tokens[None])[0], by_hand(model, QWEN3, tokens)
    assert error(found, wanted) <= 1e-12
    weights, direction = list(model.parameters()), torch.randn_like(found)
    ours = torch.autograd.grad((found * direction).sum(), weights)
    loops = torch.autograd.grad((wanted * direction).sum(), weights)
    for each, (one, other) in zip(model.state_dict(), zip(ours, loops, strict=True), strict=True):
        assert error(one, other) <= 1e-11, each


@pytest.mark.parametrize("name", ["qwen3 mixed", "mistral window", "llama 3.1"])
def test_with_rings_any_chunks_give_the_whole_text(name: str) -> None:
    model, tokens = random_model(CASES[name]), text_of(40)
    whole = model(tokens)
    for sizes in ([1] * 40, [17, 1, 1, 8, 13], [3, 37]):
        caches = model.new_caches(2, 40)
        chunks = [model(chunk, caches=caches) for chunk in tokens.split(sizes, dim=1)]
        assert error(torch.cat(chunks, dim=1), whole) <= 1e-12


# --- each entry counts, or is refused ---------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"rms_norm_eps": 0.1},
        {"sliding_window": 4},
        {"layer_types": ["full_attention"] * 3},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}},
        {"rope_parameters": YARN},
        {"rope_parameters": LLAMA3},
        {"rope_parameters": LINEAR},
        {"tie_word_embeddings": True},
        {"attention_bias": True},
        {"num_key_value_heads": 3},
        {"head_dim": 8},
        {"intermediate_size": 72},
        {"num_hidden_layers": 2, "layer_types": MIXED["layer_types"][:2]},
    ],
    ids=str,
)
def test_an_entry_that_is_read_moves_the_logits(changed: dict[str, Any]) -> None:
    before, after = random_model(QWEN3)(text_of()), random_model(QWEN3 | changed)(text_of())
    assert error(before, after) > 1e-4


@pytest.mark.parametrize(
    ("rule", "changed"),
    [
        (YARN, {"factor": 2.0}),
        (YARN, {"original_max_position_embeddings": 8192}),
        (YARN, {"beta_fast": 4}),
        (YARN, {"beta_slow": 0.01}),
        (YARN, {"attention_factor": 1.5}),
        (YARN, {"mscale": 1.0, "mscale_all_dim": 0.5}),
        (YARN, {"truncate": False}),
        (LLAMA3, {"low_freq_factor": 0.01}),
        (LLAMA3, {"high_freq_factor": 8.0}),
        (LINEAR, {"factor": 2.0}),
    ],
    ids=str,
)
def test_an_entry_of_a_rotary_rule_moves_the_logits(
    rule: dict[str, Any], changed: dict[str, Any]
) -> None:
    rule = rule | {"original_max_position_embeddings": 4096}
    before, after = (QWEN3 | {"rope_parameters": each} for each in (rule, rule | changed))
    assert error(random_model(before)(text_of()), random_model(after)(text_of())) > 1e-6


@pytest.mark.parametrize(
    "entry",
    ["bos_token_id", "eos_token_id", "dtype", "initializer_range", "attention_dropout"],
)
def test_entries_without_effect_are_let_through(entry: str) -> None:
    decoder_from_config(QWEN3 | {entry: 0.1})


@pytest.mark.parametrize(("kind", "entry"), [("qwen2", "use_mrope"), ("mistral", "mlp_bias")])
def test_a_switch_that_another_model_has_may_be_off(kind: str, entry: str) -> None:
    config = {"model_type": kind, **SIZES, "sliding_window": None} | {entry: False}
    decoder_from_config(config)
    with pytest.raises(ValueError, match=f"{entry} must be False; got True"):
        decoder_from_config(config | {entry: True})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (QWEN3 | {"model_type": "gemma3_text"}, "model_type must be one of llama, mistral, qwen2,"),
        (SIZES, "model_type must be one of .*; got None"),
        (QWEN3 | {"hidden_act": "gelu"}, "hidden_act must be 'silu'; got 'gelu'"),
        (QWEN3 | {"mlp_bias": True}, "mlp_bias must be False; got True"),
        (QWEN3 | {"use_rope": False}, "use_rope must be absent, because qwen3 .*; got False"),
        (QWEN3 | {"final_logit_softcapping": 30.0}, "final_logit_softcapping must be absent"),
        (QWEN3 | {"partial_rotary_factor": 0.5}, "partial_rotary_factor must be absent"),
        (QWEN3 | {"quantization_config": {"bits": 4}}, "quantization_config must be absent"),
        (
            CASES["llama 3.1"] | {"sliding_window": 4},
            "sliding_window must be absent, because llama",
        ),
        (CASES["mistral none"] | MIXED, "layer_types must be absent, because mistral"),
        (CASES["mistral none"] | {"attention_bias": True}, "attention_bias must be False"),
        (CASES["qwen2 late windows"] | {"attention_bias": True}, "attention_bias must be False"),
        ({"model_type": "mistral", **SIZES}, "sliding_window must be given, null for none"),
        (QWEN3 | {"use_sliding_window": False}, "sliding_window must be given for sliding_att"),
        (QWEN3 | {"layer_types": ["full_attention"]}, "layer_types must be 3 of full_attention"),
        (QWEN3 | {"layer_types": ["chunked_attention"] * 3}, "layer_types must be 3 of"),
        (QWEN3 | {"layer_types": None}, "max_window_layers must be given; got None"),
        (QWEN3 | {"head_dim": None}, "head_dim must be given; got None"),
        (QWEN3 | {"num_key_value_heads": None}, "num_key_value_heads must be given"),
        (QWEN3 | {"rms_norm_eps": None}, "rms_norm_eps must be given"),
        (QWEN3 | {"vocab_size": 0}, "vocab_size must be 1 or more; got 0"),
        (QWEN3 | {"rope_scaling": YARN}, "rope_scaling must be None beside rope_parameters"),
        (QWEN3 | {"rope_parameters": {"rope_type": "dynamic"}}, "rope_type must be one of default"),
        (QWEN3 | {"rope_parameters": YARN | {"factor": None}}, "factor must be given"),
        (QWEN3 | {"rope_parameters": LINEAR | {"beta_fast": 4}}, "beta_fast must be absent"),
        (QWEN3 | {"rope_parameters": {"rope_theta": 1e4, "factor": 4.0}}, "factor must be absent"),
    ],
)
def test_what_it_cannot_hold_is_refused_by_name_and_value(
    config: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        decoder_from_config(config)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decoder_from_config([]), "config must be a Mapping"),  # type: ignore[arg-type]
        (lambda: decoder_from_config(None), "config must be a mapping"),  # type: ignore[arg-type]
        (lambda: decoder_from_config(QWEN3 | {"hidden_size": 48.0}), "hidden_size must be an int"),
        (lambda: decoder_from_config(QWEN3 | {"attention_bias": 2}), "attention_bias must be"),
        (lambda: load_decoder("x", dtype="float32"), "dtype must be"),  # type: ignore[arg-type]
    ],
)
def test_wrong_types_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


# --- folders ----------------------------------------------------------------------------------


def folder_of(path: Path, config: dict[str, Any], weights: dict[str, Tensor]) -> Path:
    """Write a folder as it is published."""
    (path / "config.json").write_text(json.dumps(config))
    save_file(
        {name: x.contiguous().clone() for name, x in weights.items()}, path / "model.safetensors"
    )
    return path


def test_weights_in_half_precision_are_converted_without_loss(tmp_path: Path) -> None:
    theirs = theirs_of(QWEN3).bfloat16()
    weights = dict(theirs.state_dict())
    folder_of(tmp_path, QWEN3, weights)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        ours = load_decoder(tmp_path, dtype=dtype)
        for name, weight in rename_weights(weights).items():
            assert ours.state_dict()[name].dtype == dtype
            assert ours.state_dict()[name].equal(weight.to(dtype))
        assert ours.new_caches(1, 4)[0].key.dtype == dtype


def test_a_file_with_other_weights_is_refused(tmp_path: Path) -> None:
    weights = dict(theirs_of(QWEN3).state_dict())
    name = "model.layers.1.self_attn.q_norm.weight"
    without = {each: weight for each, weight in weights.items() if each != name}
    for wrong, message in (
        (without, "Missing key.*blocks.1.attention.q_norm.weight"),
        (
            weights | {"model.layers.9.mlp.up_proj.weight": torch.ones(2)},
            "Unexpected key.*blocks.9",
        ),
        (weights | {name: torch.ones(8)}, "size mismatch for blocks.1.attention.q_norm.weight"),
        ({f"language_{each}": weight for each, weight in weights.items()}, "Missing key"),
    ):
        with pytest.raises(RuntimeError, match=f"(?s){message}"):
            load_decoder(folder_of(tmp_path, QWEN3, wrong))


def test_a_tied_unembedding_may_be_left_out_or_equal_and_nothing_else(tmp_path: Path) -> None:
    tied = QWEN3 | {"tie_word_embeddings": True}
    weights = dict(theirs_of(tied).state_dict())
    embedding = weights["model.embed_tokens.weight"]
    without = {name: weight for name, weight in weights.items() if name != "lm_head.weight"}
    wanted = load_decoder(folder_of(tmp_path, tied, without))(text_of())
    both = without | {"lm_head.weight": embedding}
    assert load_decoder(folder_of(tmp_path, tied, both))(text_of()).equal(wanted)
    other = without | {"lm_head.weight": embedding + 1}
    with pytest.raises(ValueError, match="tie_word_embeddings must be false where lm_head differs"):
        load_decoder(folder_of(tmp_path, tied, other))
    with pytest.raises(RuntimeError, match=r"Missing key.*output\.weight"):
        load_decoder(folder_of(tmp_path, QWEN3, without))
    del without["model.embed_tokens.weight"]
    with pytest.raises(RuntimeError, match=r"Missing key.*token_embedding\.weight"):
        load_decoder(folder_of(tmp_path, tied, without))


def test_stored_frequencies_of_old_files_are_left_out(tmp_path: Path) -> None:
    config = CASES["llama linear"]
    weights = dict(theirs_of(config).state_dict())
    wanted = load_decoder(folder_of(tmp_path, config, weights))(text_of())
    weights["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)
    assert load_decoder(folder_of(tmp_path, config, weights))(text_of()).equal(wanted)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        load_decoder(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(QWEN3))
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors"):
        load_decoder(str(tmp_path))


# --- the model that tells stories -------------------------------------------------------------


@pytest.fixture(scope="module")
def stories() -> DecoderModel:
    return tiny_qwen3.tiny_qwen3()


def test_the_weights_are_those_of_the_command(stories: DecoderModel) -> None:
    told = describe_weights("tiny-qwen3")
    assert told["command"] == COMMAND.format("tiny-qwen3")
    assert told["steps"] == tiny_qwen3.STEPS
    found = sum(nats_by_kind(stories, tell_stories(100, HELD_OUT)).values())
    assert found == pytest.approx(told["nats"], abs=0.02)
    assert least_nats() < found < least_nats() + 2


def test_its_folder_runs_in_transformers_and_here_alike(
    stories: DecoderModel, tmp_path: Path
) -> None:
    folder = tiny_qwen3.save_tiny_qwen3(tmp_path / "new" / "folder")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder)
    assert type(theirs).__name__ == "Qwen3ForCausalLM"
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    for story in tell_stories(5, 3):
        prompt = "\n" + "".join(part.text for part in story)[:60]
        tokens = encode(prompt)[None]
        assert tokenizer(prompt)["input_ids"] == tokens[0].tolist()
        assert tokenizer.decode(tokens[0]) == prompt
        ours = load_decoder(folder)
        wanted = theirs(tokens).logits
        assert off(ours(tokens), wanted) <= 1e-5
        assert off(stories(tokens), wanted) <= 1e-5
        mask = torch.ones_like(tokens)
        written = theirs.generate(tokens, attention_mask=mask, max_new_tokens=68, do_sample=False)
        text = decode(written[0]).removesuffix("\n")[1:]
        assert continue_text(ours, prompt[1:]) == text + "\n"
        assert text.endswith(".")
    assert load_file(folder / "model.safetensors").keys() == {
        name for name in theirs.state_dict() if name != "lm_head.weight"
    }


def test_its_first_layer_keeps_a_ring_and_its_second_all(stories: DecoderModel) -> None:
    first, second = stories.new_caches(1, 128)
    assert (first.key.size(2), second.key.size(2)) == (tiny_qwen3.WINDOW, 128)


# --- exhibits ---------------------------------------------------------------------------------

MENDED = {
    "gate_up_swapped": (
        '"w1": "up_proj", "w2": "down_proj", "w3": "gate_proj"',
        '"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"',
    ),
    "theta_default": (
        'config.get("rope_theta", 10000.0)',
        'config["rope_parameters"]["rope_theta"]',
    ),
    "qk_norms_swapped": (
        '{"query_norm": "k_norm", "key_norm": "q_norm"}',
        '{"query_norm": "q_norm", "key_norm": "k_norm"}',
    ),
    "text_fed_again": ("model(tokens, ", "model(tokens[:, caches[0].length :], "),
}
THEIRS = {  # what the exhibits find in a file, and what it is called here
    "gate_up_swapped": {"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"},
    "qk_norms_swapped": {"q_norm": "query_norm", "k_norm": "key_norm"},
    "theta_default": {},
}


def renamed(state: dict[str, Tensor], names: dict[str, str]) -> dict[str, Tensor]:
    """Return weights with pieces of their names replaced."""
    for ours, theirs in names.items():
        state = {name.replace(ours, theirs): weight for name, weight in state.items()}
    return state


@pytest.mark.parametrize("name", sorted(THEIRS))
def test_the_model_loads_but_its_logits_are_others_until_the_line_is_mended(name: str) -> None:
    right, tokens = random_model(QWEN3), text_of()
    wanted = right(tokens)
    for mended in (False, True):
        module = load_exhibit(f"checkpoints/{name}", MENDED[name], mended=mended)
        found = module.load(QWEN3, renamed(right.state_dict(), THEIRS[name])).double()(tokens)
        assert found.shape == wanted.shape
        # weights pass through float32 on the way
        assert off(found, wanted) <= 1e-5 if mended else error(found, wanted) > 0.01


def test_a_first_token_shows_neither_theta_nor_swapped_norms() -> None:
    right = random_model(QWEN3)
    for name, least in (
        ("theta_default", 0.0),
        ("qk_norms_swapped", 0.0),
        ("gate_up_swapped", 0.1),
    ):
        module = load_exhibit(f"checkpoints/{name}", MENDED[name], mended=False)
        wrong = module.load(QWEN3, renamed(right.state_dict(), THEIRS[name])).double()
        far = off(wrong(text_of(1)), right(text_of(1)))
        assert far > least if least else far <= 1e-5


def test_swapped_norms_write_the_same_story(stories: DecoderModel) -> None:
    module = load_exhibit("checkpoints/qk_norms_swapped", MENDED["qk_norms_swapped"], mended=False)
    weights = renamed(stories.state_dict(), THEIRS["qk_norms_swapped"])
    wrong = module.load(tiny_qwen3.CONFIG, weights)
    prompt = "mia has a red dog and tom has a black cat. the cat"
    assert continue_text(wrong, prompt) == continue_text(stories, prompt)
    tokens = encode("\n" + prompt)[None]
    assert off(wrong(tokens), stories(tokens)) > 0.003


def test_swapped_norms_change_no_score_without_a_distance() -> None:
    query, key = torch.randn(2, 7, 16, dtype=torch.float64).unbind()
    one, other = torch.rand(2, 16, dtype=torch.float64).unbind()
    assert error((query * one * key * other).sum(-1), (query * other * key * one).sum(-1)) <= 1e-12


def test_a_text_fed_again_writes_another_text_until_mended(stories: DecoderModel) -> None:
    tokens = encode("\nmia has a red dog and tom has")[None]
    wanted = stories.generate(tokens, 40)
    for mended in (False, True):
        module = load_exhibit("checkpoints/text_fed_again", MENDED["text_fed_again"], mended=mended)
        assert module.generate(stories, tokens, 40).equal(wanted) is mended
