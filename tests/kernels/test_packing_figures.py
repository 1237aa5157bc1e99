"""The figures and tables on packing show what the code and PyTorch's block masks say."""

import copy
import functools
import math
import runpy
from itertools import pairwise
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, LlamaForCausalLM

from attn_docs import causal_mask, document_ids, document_mask, document_positions
from docs._tools.blocks import ROOT
from docs._tools.page import page_module
from tests.kit import error, parse

calls = page_module("kernels/packing", "calls")
figures = page_module("kernels/packing", "figures")
tables = page_module("kernels/packing", "tables")
waste = page_module("kernels/packing", "waste")
languages = pytest.mark.parametrize("language", ["en", "zh"])


@languages
def test_the_mask_has_a_cell_for_each_pair(language: str) -> None:
    root = parse(figures.mask(language))
    cells = {
        group.get("data-kind"): {(float(r.get("y")), float(r.get("x"))) for r in group.iter("rect")}
        for group in root.iter("g")
        if group.get("data-kind")
    }
    n = sum(figures.LENGTHS)
    causal = causal_mask(n)
    own = causal & document_mask(document_ids(figures.LENGTHS))
    for kind, wanted in {"own": own, "leak": causal & ~own, "future": ~causal}.items():
        pairs = {(round((y - 66) / 24), round((x - 96) / 24)) for y, x in cells[kind]}
        assert pairs == {(int(i), int(j)) for i, j in wanted.nonzero()}


@languages
def test_the_rows_hold_each_document_once_and_in_its_length(language: str) -> None:
    root, lengths = parse(figures.rows(language)), figures.drawn_lengths()
    for group in root.iter("g"):
        bars = [bar for bar in group.iter("rect") if bar.get("data-document")]
        assert sorted(int(bar.get("data-document")) for bar in bars) == list(range(len(lengths)))
        scale = {float(b.get("width")) / lengths[int(b.get("data-document"))] for b in bars}
        assert max(scale) - min(scale) < 0.01
        rooms = [float(r.get("width")) for r in group.iter("rect") if not r.get("data-document")]
        filled = sum(float(bar.get("width")) for bar in bars)
        assert float(group.get("data-padding")) == pytest.approx(1 - filled / sum(rooms), abs=6e-3)


def test_the_blocks_are_those_of_the_mask() -> None:
    n, block = sum(figures.BLOCK_LENGTHS), figures.BLOCK
    mask = document_mask(document_ids(figures.BLOCK_LENGTHS)) & causal_mask(n)
    share = mask.float().unflatten(0, (-1, block)).unflatten(2, (-1, block)).mean(dim=(1, 3))
    wanted = [
        ["skipped" if x == 0 else "full" if x == 1 else "partial" for x in row]
        for row in share.tolist()
    ]
    assert figures.block_kinds() == wanted
    skipped = sum(row.count("skipped") for row in wanted) / (n // block) ** 2
    assert figures.block_mask().sparsity() == pytest.approx(100 * skipped)
    root = parse(figures.blocks("en"))
    for axis in ("keys", "queries"):
        labels = [x for x in root.iter("text") if x.get("data-axis") == axis]
        assert [x.text for x in labels] == ["0", "1", "2"]  # as text, masks and code count
        sizes = [int(x.get("data-size")) * block for x in labels]
        assert sizes == figures.BLOCK_LENGTHS
    drawn = [r.get("data-block") for r in root.iter("rect") if r.get("data-block")]
    assert drawn[:-3] == [kind for row in wanted for kind in row]  # and three in the legend


def test_padding_and_packing_hold_all_words() -> None:
    lengths, ways = waste.document_lengths(), waste.ways()
    rows = waste.first_fit(lengths, waste.ROOM)
    assert sorted(x for row in rows for x in row) == sorted(lengths)
    assert all(sum(row) <= waste.ROOM for row in rows)
    assert ways["dense"][0] == len(rows) * waste.ROOM
    in_order = waste.next_fit(lengths, waste.ROOM)
    assert [x for row in in_order for x in row] == list(lengths)
    assert all(sum(row) <= waste.ROOM for row in in_order)
    fits = [sum(row) + following[0] <= waste.ROOM for row, following in pairwise(in_order)]
    assert not any(fits)  # a new row only where the next document has no room
    assert ways["in_order"][0] == len(in_order) * waste.ROOM
    for order, way in ((lengths, "random"), (tuple(sorted(lengths)), "sorted")):
        batches = [torch.tensor(order[i : i + 16]) for i in range(0, len(order), 16)]
        assert ways[way] == (
            sum(int(x.max()) * len(x) for x in batches),
            sum(int(x.max()) ** 2 * len(x) for x in batches),
        )
    assert ways["varlen"] == (sum(lengths), sum(x * x for x in lengths))


APART = {
    "nothing": (False, False, False),
    "default": (False, False, True),
    "no_cache": (True, True, True),
    "checkpointed": (True, True, True),
    "ones": (False, False, True),
    "rows": (True, True, False),
    "stated": (False, False, True),
    "boolean": (False, True, None),
    "added": (True, True, None),
}


@pytest.mark.parametrize("call", calls.CALLS)
def test_the_page_says_which_calls_of_transformers_keep_documents_apart(call: str) -> None:
    """Its sentences name the conditions, so they must be read again when one of these changes."""
    found = [calls.changes(each, call) for each in calls.IMPLEMENTATIONS]
    apart = (None if math.isnan(change) else change == 0 for change in found)  # None: an error
    assert tuple(apart) == APART[call]
    assert all(not 0 < change <= 1e-3 for change in found)


def test_training_mode_leaks_as_evaluation_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its model makes a cache too: only `use_cache=False` keeps the documents apart."""
    make = calls.tiny_model
    monkeypatch.setattr(calls, "tiny_model", lambda: make().train())
    for implementation in ("eager", "sdpa"):
        assert calls.changes(implementation, "default") > 1e-3
        assert calls.changes(implementation, "no_cache") == 0


def test_gradient_checkpointing_hides_the_leak_in_training_only() -> None:
    """It switches the cache off; a mask of ones leaks all the same, and so does `eval()`."""
    model, tokens = calls.tiny_model(), torch.arange(calls.TOKENS).unsqueeze(0)
    model.activation_checkpointing_enable()
    other = tokens.clone()
    other[:, : calls.FIRST] += 20
    ones = {"attention_mask": torch.ones_like(tokens)}
    for training, options, apart in ((True, {}, True), (False, {}, False), (True, ones, False)):
        model.train(training)
        found = [
            model(x, position_ids=calls.POSITIONS, **options).logits[:, calls.FIRST :]
            for x in (tokens, other)
        ]
        assert torch.equal(*found) == apart


@torch.no_grad()
@pytest.mark.parametrize(("first", "same"), [((12,), False), ((6, 6), True)])
def test_one_long_document_changes_dynamic_angles_of_all(
    first: tuple[int, ...], *, same: bool
) -> None:
    """Positions that are reset do not cure it: the longest document of the row decides."""
    torch.manual_seed(0)
    config = calls.tiny_model().config
    config.max_position_embeddings, config.initializer_range = 8, 0.5
    config.rope_parameters = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}
    model = LlamaForCausalLM(config).double().eval()
    tokens = torch.randint(50, (1, sum(first) + 6))
    positions = document_positions([*first, 6]).unsqueeze(0)
    fresh = copy.deepcopy(model)  # a model keeps the angles of its longest call
    packed = model(tokens, position_ids=positions, use_cache=False).logits[:, -6:]
    alone = fresh(tokens[:, -6:], use_cache=False).logits
    assert (error(packed, alone) <= 1e-12) == same


@torch.no_grad()
def test_the_loops_that_stand_for_flash_attention_compute_what_sdpa_does() -> None:
    model, tokens = calls.tiny_model(), torch.arange(calls.TOKENS).unsqueeze(0)
    found = []
    for model.config._attn_implementation in ("sdpa", "flash_attention_2"):
        with calls.flash_attention_on_cpu():
            found.append(model(tokens, **calls.CALLS["no_cache"]).logits)
    assert error(*found) <= 1e-12


SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "vocab_size": 50}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
STATES = {"linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 8}
MODELS = {  # what each needs besides, and whether it leaks: packed, and with a mask of one's own
    "llama": ({}, False, False),
    "mixtral": ({"num_local_experts": 4}, False, False),
    "qwen3_moe": (EXPERTS, False, False),
    "gpt_oss": ({}, True, False),
    "opt": ({"word_embed_proj_dim": 16}, True, False),
    "qwen3_next": (EXPERTS | STATES | {"shared_expert_intermediate_size": 16}, True, True),
}


@functools.cache
def the_program() -> dict[str, Any]:
    path = ROOT / "attn_docs" / "examples" / "kernels" / "packing" / "does_it_leak.py"
    return runpy.run_path(str(path))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_the_program_says_which_models_leak_and_forgives_rounding(name: str) -> None:
    """A change of gpt-oss, OPT or Qwen3-Next asks for the page's paragraph to be read again."""
    leaks = the_program()["leaks"]
    options, packed, masked = MODELS[name]
    torch.manual_seed(0)
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "linear_value_head_dim": 8}
    layers = ["linear_attention", "full_attention"] if name == "qwen3_next" else None
    extra = heads | options | ({"layer_types": layers} if layers else {})
    config = AutoConfig.for_model(name, pad_token_id=0, **(SMALL | extra))
    model = AutoModelForCausalLM.from_config(config).eval()
    mask = calls.ADDED.float()
    own = dict.fromkeys(("full_attention", "sliding_attention"), mask)
    call = {"position_ids": calls.POSITIONS, "use_cache": False}
    assert leaks(model, **call) == packed
    assert leaks(model, **call, attention_mask=own if name == "gpt_oss" else mask) == masked
