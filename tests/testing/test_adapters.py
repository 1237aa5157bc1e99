"""How a module is called: what a reader says, what is guessed and said, what is refused."""

import importlib
import re

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import nn
from transformers.models.llama.modeling_llama import LlamaAttention

from attn_docs.testing import Adapter, check_module
from attn_docs.testing.adapter import adapter_for
from attn_docs.testing.claims import Claims
from attn_docs.testing.module_subject import subject_of
from tests.testing.plain import DIM, HEADS, Plain, found, verdicts

LLAMA = transformers.LlamaConfig(
    hidden_size=DIM,
    num_attention_heads=HEADS,
    num_key_value_heads=2,
    num_hidden_layers=2,
    intermediate_size=48,
    vocab_size=11,
    max_position_embeddings=96,
)


def fitted(module, adapter=None):
    """Return the adapter as it is after the module was tried."""
    options = {"context_dim": DIM, "claims": Claims()}
    return subject_of(module, adapter_for(module, adapter), embed_dim=DIM, **options).adapter


# --- transformers ----------------------------------------------------------------------------


def transformers_module(folder, name, config, *arguments):
    file = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    return getattr(file, name)(config, *arguments)


class NoConfig(nn.Module):
    def forward(self, hidden_states, position_embeddings, attention_mask=None):  # noqa: ARG002
        return hidden_states


class NoRotary(NoConfig):
    def __init__(self):
        super().__init__()
        self.config = LLAMA


def attending_by(kernel):
    layer = LlamaAttention(transformers.LlamaConfig(**LLAMA.to_diff_dict()), 0)
    layer.config._attn_implementation = kernel
    return layer


VIT = transformers.ViTConfig(hidden_size=DIM, num_attention_heads=HEADS, num_hidden_layers=1)
T5 = transformers.T5Config(d_model=DIM, d_kv=8, d_ff=48, num_heads=HEADS, num_layers=1)
REFUSED = {
    "no module": (lambda: 3, TypeError, "module must be a torch.nn.Module; got int"),
    "pictures": (
        lambda: transformers_module("vit", "ViTModel", VIT),
        ValueError,
        "ViTModel.forward takes pixel_values",
    ),
    "encoder and decoder": (
        lambda: transformers_module("t5", "T5Model", T5),
        ValueError,
        "of an encoder and decoder one of the two; T5Model.forward takes input_ids",
    ),
    "a kernel for GPUs": (
        lambda: attending_by("flash_attention_2"),
        ValueError,
        "set config._attn_implementation; got 'flash_attention_2'",
    ),
    "no config": (NoConfig, ValueError, "module must have a config"),
    "no rotary embedding": (NoRotary, ValueError, "module must stand in a file with its rotary"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_huggingface_cannot_call_is_refused(what):
    make, error, message = REFUSED[what]
    with pytest.raises(error, match=re.escape(message)):
        Adapter.huggingface(make())


class Unmasked(LlamaAttention):
    """A layer in a file of its own, whose mask is dropped."""

    def forward(self, hidden_states, position_embeddings, attention_mask=None, **kwargs):  # noqa: ARG002
        return super().forward(hidden_states, position_embeddings, None, **kwargs)


class Forgetful(LlamaAttention):
    """A layer that gives its cache the tokens it should be asked about."""

    def forward(
        self, hidden_states, position_embeddings, attention_mask=None, past_key_values=None
    ):
        if past_key_values is not None and past_key_values.get_seq_length(0):
            past_key_values.crop(1)
            keys = 1 + hidden_states.size(1)
            attention_mask = attention_mask[..., -keys:]
        return super().forward(hidden_states, position_embeddings, attention_mask, past_key_values)


@pytest.mark.parametrize(
    ("kind", "failing"), [(Unmasked, {"mask used", "causality"}), (Forgetful, {"cache"})]
)
def test_a_layer_written_like_those_of_transformers_is_called_like_those(kind, failing):
    module = kind(LLAMA, 0)
    report = check_module(module, embed_dim=DIM, causal=True, adapter=Adapter.huggingface(module))
    assert failing <= {finding.property for finding in report.failures}, report
    assert found(report, "oracle").verdict == "pass", report


def test_a_layer_of_transformers_needs_no_adapter_and_what_is_guessed_is_said():
    adapter = fitted(LlamaAttention(LLAMA, 0))
    assert adapter.mask_true == "added"
    assert adapter.guessed == (
        "the module is called as transformers calls it, by Adapter.huggingface"
    )


def test_a_layer_of_transformers_goes_on_from_its_cache_as_its_model_does():
    module = LlamaAttention(LLAMA, 1)
    report = check_module(module, embed_dim=DIM, causal=True, adapter=Adapter.huggingface(module))
    assert verdicts(report)["cache"] == "pass", report


def test_fields_of_huggingface_can_be_changed():
    adapter = Adapter.huggingface(LlamaAttention(LLAMA, 0), step=None, positions=False)
    assert adapter.step is None
    assert not adapter.positions
    assert adapter.mask_axes == 4


# --- functions that call ---------------------------------------------------------------------


class Deaf(Plain):
    """Takes a mask and does nothing with it."""

    def forward(self, x, attn_mask=None):  # noqa: ARG002
        return super().forward(x)


@pytest.mark.parametrize("name", ["attn_mask", "mask", "attention_mask"])
def test_a_function_is_called_with_the_mask_whatever_it_calls_it(name):
    scope = {}
    exec(f"def call(module, x, *, {name}=None): return module(x, {name})", scope)  # noqa: S102
    deaf, plain = (check_module(m, embed_dim=DIM, adapter=scope["call"]) for m in (Deaf(), Plain()))
    assert found(deaf, "mask used").verdict == "fail"
    assert found(plain, "mask used").verdict == "pass"


def test_a_function_is_told_to_be_causal_whatever_it_calls_it():
    def call(module, x, causal=False):
        below = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
        return module(x, below if causal else None)

    assert found(check_module(Plain(), embed_dim=DIM, adapter=call), "causality").verdict == "pass"


WHAT = "adapter must name what it takes after module and x as one of attn_mask, mask, "
FUNCTIONS = {
    "an unknown name": (lambda module, x, blocked=None: module(x, blocked), WHAT),
    "a needed one": (lambda module, x, blocked: module(x, blocked), WHAT),
    "a flag": (lambda module, x, triangle=False: module(x, triangle), "got triangle=False"),
    "any name": (lambda module, x, **others: module(x, **others), "got **others"),
    "two names": (
        lambda module, x, mask=None, attn_mask=None: module(x, mask or attn_mask),
        "adapter must have one name for attn_mask; got mask, attn_mask",
    ),
}


@pytest.mark.parametrize("what", FUNCTIONS)
def test_a_function_with_names_that_are_not_known_is_refused(what):
    call, message = FUNCTIONS[what]
    with pytest.raises(ValueError, match=re.escape(message)):
        check_module(Plain(), embed_dim=DIM, adapter=call)


def test_a_function_may_hold_what_it_needs_itself():
    def call(module, x, attn_mask=None, factor=1.0):
        return module(x, attn_mask) * factor

    assert found(check_module(Plain(), embed_dim=DIM, adapter=call), "mask used").verdict == "pass"


# --- what is guessed -------------------------------------------------------------------------


class Renamed(Plain):
    """Adds its mask to the scores, as transformers' layers do."""

    def forward(self, x, attention_mask=None):
        q, k, v = (
            f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        scores = q @ k.mT / q.size(-1) ** 0.5
        if attention_mask is not None:
            scores = scores + attention_mask
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class SameName(Renamed):
    """The same, with a name that says nothing of adding."""

    def forward(self, x, attn_mask=None):
        return super().forward(x, attn_mask)


class FloatsOnly(SameName):
    """The same, but a mask that cannot be added is refused."""

    def forward(self, x, attn_mask=None):
        if attn_mask is not None and attn_mask.amax() > 0:
            raise TypeError("no 0 and 1")
        return super().forward(x, attn_mask)


def test_an_attention_mask_is_added_where_a_boolean_one_hides_nothing():
    adapter = fitted(Renamed())
    assert (adapter.mask_true, adapter.mask_axes) == ("added", 2)
    assert adapter.guessed == "attention_mask is added to the scores (2 axes)"
    assert found(check_module(Renamed(), embed_dim=DIM), "mask place").verdict == "pass"


def test_a_mask_is_added_where_every_other_form_raises():
    assert fitted(FloatsOnly()).guessed == "attn_mask is added to the scores (2 axes)"


def test_a_boolean_mask_that_is_added_by_mistake_is_no_habit():
    assert fitted(SameName()).guessed == ""
    finding = found(check_module(SameName(), embed_dim=DIM), "mask place")
    assert finding.verdict == "fail"


def test_a_mask_said_to_be_added_is_boolean_where_every_added_one_raises():
    adapter = Adapter(attn_mask="attn_mask", mask_true="added")
    guessed = fitted(Plain(), adapter).guessed
    assert guessed == "attn_mask says True or 1 where a query may attend (2 axes)"


def test_which_of_true_and_false_hides_is_not_guessed():
    class Inverted(Plain):
        def forward(self, x, attention_mask=None):
            return super().forward(x, None if attention_mask is None else ~attention_mask)

    report = check_module(Inverted(), embed_dim=DIM)
    assert found(report, "mask polarity").verdict == "fail"


def test_a_mask_that_raises_in_every_form_is_not_called_none():
    class Raises(Plain):
        def forward(self, x, attn_mask=None):
            if attn_mask is not None:
                raise RuntimeError("no masks today")
            return super().forward(x)

    finding = found(check_module(Raises(), embed_dim=DIM), "mask used")
    assert finding.verdict != "pass"
    assert "no masks today" in finding.evidence


class PaddingOnly(Plain):
    def forward(self, x, key_padding_mask=None):
        mask = None if key_padding_mask is None else ~key_padding_mask[:, None, None]
        return super().forward(x, mask)


def test_a_mask_of_padding_is_read_as_pytorch_does():
    adapter = fitted(PaddingOnly())
    assert (adapter.mask_true, adapter.mask_axes) == ("blocks", 1)
    assert "True where there is no token" in adapter.guessed
    assert found(check_module(PaddingOnly(), embed_dim=DIM), "padding").verdict == "pass"


class Crossing(nn.Module):
    """Attends to a context, without which it cannot be called though the signature says so."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))

    def forward(self, x, encoder_hidden_states=None):
        sources = (x, encoder_hidden_states, encoder_hidden_states)
        q, k, v = (
            f(t).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for f, t in zip((self.q, self.k, self.v), sources, strict=True)
        )
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o(y.transpose(1, 2).flatten(2))


def test_a_context_that_is_needed_after_all_is_given():
    said = "encoder_hidden_states is given in every call, since the module raises without"
    assert fitted(Crossing()).guessed == said
    assert found(check_module(Crossing(), embed_dim=DIM), "cross-attention").verdict == "pass"


def test_a_module_that_raises_with_a_context_too_is_blamed_for_the_first_error():
    class Neither(Crossing):
        def forward(self, x, encoder_hidden_states=None):  # noqa: ARG002
            raise RuntimeError("without" if encoder_hidden_states is None else "with")

    with pytest.raises(ValueError, match="it raised RuntimeError: without"):
        check_module(Neither(), embed_dim=DIM)


# --- what can be said ------------------------------------------------------------------------


class ByMask(Plain):
    """Is causal by the mask that it is given, and wants tokens by name and something each call."""

    def forward(self, *, words, attn_mask, places):
        assert places.tolist() == list(range(words.size(1)))
        return super().forward(words, attn_mask)


SAID = Adapter(
    x="words",
    causal_mask=True,
    context=None,
    keywords=lambda x: {"places": torch.arange(x.size(1))},
)


def test_a_triangle_is_given_as_a_mask():
    report = check_module(ByMask(), embed_dim=DIM, causal=True, adapter=SAID)
    assert report.failures == [], report
    for name in ("causality", "prefix", "mask used", "mask place", "oracle"):
        assert verdicts(report)[name] == "pass", name


def test_a_triangle_that_is_not_applied_is_seen():
    class Ignores(ByMask):
        def forward(self, *, words, attn_mask, places):  # noqa: ARG002
            return super().forward(words=words, attn_mask=None, places=places)

    report = check_module(Ignores(), embed_dim=DIM, causal=True, adapter=SAID)
    assert {"causality", "mask used"} <= {finding.property for finding in report.failures}


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"x": 1}, TypeError, "x must be the name of an argument or None; got 1"),
        ({"causal_mask": 1}, TypeError, "causal_mask must be True or False; got 1"),
        (
            {"causal_mask": True, "attn_mask": None},
            ValueError,
            "causal_mask must be False where attn_mask is None; got True",
        ),
        ({"context_needed": None}, TypeError, "context_needed must be True or False; got None"),
        ({"positions": "rotary"}, TypeError, "positions must be True or False; got 'rotary'"),
    ],
)
def test_bad_fields(fields, error, message):
    with pytest.raises(error, match=re.escape(message)):
        Adapter(**fields)


def test_a_report_says_what_was_guessed():
    evidence = found(check_module(Renamed(), embed_dim=DIM), "oracle").evidence
    assert evidence.endswith("; guessed: attention_mask is added to the scores (2 axes)")
    assert "guessed" not in found(check_module(SameName(), embed_dim=DIM), "oracle").evidence
