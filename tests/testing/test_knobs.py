"""Options that are accepted and ignored, or do something else, in functions and modules."""

import functools
import inspect
import math
import warnings
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from attn_docs import (
    MultiHeadAttention,
    SinkAttention,
    scaled_dot_product_attention,
    softcap_attention,
)
from attn_docs.testing import Adapter, check_attention, check_module
from tests.testing.plain import DIM, HEADS, Plain, found

with warnings.catch_warnings():  # of x-transformers, about a decorator of PyTorch's
    warnings.simplefilter("ignore", DeprecationWarning)
    from tests.testing.real import DECODERS, GEMMA2, OSS, SIZES

PROPERTY = "options used"
DEFAULTS = {"softcap": 0.0, "window_size": (-1, -1), "sinks": None, "window": None}


def of_function(attend, **options):
    return found(check_attention(attend, **options), PROPERTY)


def of_module(module, **options):
    return found(check_module(module, embed_dim=DIM, causal=True, **options), PROPERTY)


# --- functions --------------------------------------------------------------------------------


def capped(scores, cap, wrong):
    if wrong == "clamp":
        return scores.clamp(-cap, cap)
    if wrong == "no division":
        return cap * torch.tanh(scores)
    if wrong == "no product":
        return torch.tanh(scores / cap)
    if wrong == "before the scale":  # by 1/√16
        return cap / 4 * torch.tanh(4 * scores / cap)
    return cap * torch.tanh(scores / cap)


def visible(scores, window, causal, wrong):
    n, m = scores.shape[-2:]
    i, j = torch.arange(n)[:, None] + m - n, torch.arange(m)
    kept = j <= i if causal else torch.ones(n, m, dtype=torch.bool)
    if isinstance(window, int):
        window = (window - 1, window - 1)
    if window is not None and window[0] >= 0:
        left = window[0] + (2 if wrong == "two more" else 0)
        kept = kept & (j >= i - left) & (j <= i + window[1])
    return kept


def softened(scores, sinks):
    if sinks is None:
        return scores.softmax(-1).nan_to_num(0.0)
    column = sinks.view(-1, 1, 1).expand(*scores.shape[:-1], 1)
    return torch.cat([scores, column], -1).softmax(-1)[..., :-1]


def attention(*names, ignored="", wrong=""):
    """Return a function that has some knobs, ignores one, or does one wrongly."""

    def attend(query, key, value, attn_mask=None, is_causal=False, **given):
        given = {**DEFAULTS, **given}
        if ignored in given:
            given[ignored] = DEFAULTS[ignored]
        if wrong == "one path" and is_causal:
            given["softcap"] = 0.0
        if wrong == "masked cap":
            given["softcap"] = given["softcap"] if attn_mask is None else 0.0
        scores = query @ key.mT / math.sqrt(query.size(-1))
        if given["softcap"]:
            scores = capped(scores, given["softcap"], wrong)
        window = given["window"] or given["window_size"]
        kept = visible(scores, window, is_causal, wrong)
        kept = kept if attn_mask is None else kept & attn_mask
        sinks = given["sinks"]
        if sinks is not None and wrong == "scaled sinks":
            sinks = sinks / 4
        if sinks is not None and wrong == "flipped sinks":
            sinks = sinks.flip(0)
        return softened(scores.masked_fill(~kept, -math.inf), sinks) @ value

    shown = inspect.signature(attend).parameters.values()
    own = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS[n]) for n in names]
    attend.__signature__ = inspect.Signature([*list(shown)[:-1], *own])
    return attend


ALL = ("softcap", "window_size", "sinks")


def test_knobs_that_do_what_their_names_say_pass():
    report = check_attention(attention(*ALL))
    assert report.passed, report
    assert found(report, PROPERTY).evidence == (
        "softcap=0.5 caps the scores; window_size=(3, 3) lets each query see 3 before itself; "
        "sinks=a tensor (10,) adds to the sum of each row what no key gets"
    )


def test_both_conventions_of_a_window_pass_and_are_told_apart():
    finding = of_function(attention("window"))
    assert finding.evidence == "window=3 lets each query see 3, itself among them"
    finding = of_function(attention("window_size"), knobs={"window_size": (2, 2)})
    assert finding.evidence == "window_size=(2, 2) lets each query see 2 before itself"


@pytest.mark.parametrize("name", ALL)
def test_a_knob_that_is_accepted_and_ignored_is_caught(name):
    report = check_attention(attention(*ALL, ignored=name))
    assert [finding.property for finding in report.failures] == [PROPERTY]
    finding = found(report, PROPERTY)
    assert finding.cause.startswith(f"accepted and ignored: {name}=")
    assert "changes nothing, nor with is_causal=True, nor with a mask" in finding.evidence


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        ("clamp", "softcap: scores are cut off at the cap"),
        ("no division", "softcap: a tanh without the cap before it: c · tanh(score)"),
        ("no product", "softcap: a tanh without the cap after it: tanh(score / c)"),
        ("before the scale", "softcap: the scores are capped before they are scaled"),
        ("one path", "accepted and ignored with is_causal=True: softcap=0.5"),
        ("masked cap", "accepted and ignored with a mask: softcap=0.5"),
        ("two more", "window_size: the keys that are seen are those of no window of that size"),
        ("scaled sinks", "sinks: sinks are multiplied by the scale"),
        ("flipped sinks", "sinks: sinks are taken in the wrong order of heads"),
    ],
)
def test_a_knob_that_does_something_else_is_named(wrong, cause):
    report = check_attention(attention(*ALL, wrong=wrong))
    assert [finding.property for finding in report.failures] == [PROPERTY]
    assert found(report, PROPERTY).cause == cause


def test_several_that_are_ignored_are_all_named():
    def plain(query, key, value, softcap=None, window=None):
        return F.scaled_dot_product_attention(query, key, value)

    cause = "accepted and ignored: softcap=0.5; accepted and ignored: window=3"
    assert of_function(plain).cause == cause


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_nothing_false_is_said_in_lower_precision(dtype):
    assert of_function(attention(*ALL), dtype=dtype).verdict == "pass"


def test_our_soft_cap_passes_with_its_cap_fixed():
    attend = functools.partial(softcap_attention, softcap=50.0)
    report = check_attention(attend, softcap=50.0)
    assert report.passed, report
    assert found(report, PROPERTY).evidence == "softcap=0.5 caps the scores"


def test_a_function_without_knobs_is_not_asked():
    assert of_function(scaled_dot_product_attention).verdict == "not applicable"


def test_a_knob_that_raises_is_not_judged():
    def refusing(query, key, value, softcap=None):
        if softcap is not None:
            raise NotImplementedError("no softcap")
        return F.scaled_dot_product_attention(query, key, value)

    finding = of_function(refusing)
    assert finding.verdict == "not judged"
    assert finding.evidence.startswith("softcap=0.5 raised NotImplementedError: no softcap")


def test_what_kwargs_swallow_is_caught_if_it_is_named():
    def swallowing(query, key, value, **kwargs):
        return F.scaled_dot_product_attention(query, key, value)

    assert of_function(swallowing).verdict == "not applicable"
    finding = of_function(swallowing, knobs={"softcap": 2.0})
    assert finding.cause == "accepted and ignored: softcap=2.0"


def test_a_knob_of_another_name_must_change_something():
    def biased(query, key, value, bias=0.0, unused=0.0):
        return F.scaled_dot_product_attention(query, key, value + bias)

    finding = of_function(biased, knobs={"bias": 1.0, "unused": 1.0})
    assert finding.cause == "accepted and ignored: unused=1.0"
    assert of_function(biased, knobs={"bias": 1.0}).evidence == "bias=1.0 changes the output"


@pytest.mark.parametrize(
    ("knobs", "error", "message"),
    [
        (["softcap"], TypeError, r"knobs must map names to values; got \['softcap'\]"),
        ({1: 2}, TypeError, "knobs must have names for keys; got 1"),
        ({"cap": 2.0}, ValueError, "knobs must name .*; got 'cap'"),
    ],
)
def test_wrong_knobs_are_refused(knobs, error, message):
    with pytest.raises(error, match=message):
        check_attention(attention(*ALL[:1]), knobs=knobs)
    with pytest.raises(error, match=message):
        check_module(Plain(), embed_dim=DIM, knobs=knobs)


def test_scale_is_asked_where_the_formula_is_not_known():
    def sigmoid(query, key, value, scale=None):
        scores = (query @ key.mT / math.sqrt(query.size(-1))).sigmoid()
        return scores / scores.sum(-1, keepdim=True) @ value

    assert of_function(sigmoid).cause == "accepted and ignored: scale=0.3"


# --- modules ----------------------------------------------------------------------------------


class Kept(nn.Module):
    """A causal layer that keeps knobs, and does with them what `does` says."""

    def __init__(self, does="", softcap=None, window=None, scale=None, norm=False, sinks=None):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))
        self.norm = nn.RMSNorm(DIM // HEADS) if norm else nn.Identity()
        self.does, self.softcap, self.window, self.scale = does, softcap, window, scale
        self.register_buffer("sinks", sinks)
        if does == "closure":
            self.bend = lambda scores: softcap * torch.tanh(scores / softcap)
        if does == "built":
            self.seen = torch.ones(256, 256, dtype=torch.bool).tril().triu(1 - window)

    def forward(self, x):
        q, k, v = (
            f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        scores = self.norm(q) @ self.norm(k).mT / q.size(-1) ** 0.5
        if self.does == "closure":
            scores = self.bend(scores)
        if self.does == "capped":
            scores = self.softcap * torch.tanh(scores / self.softcap)
        if self.does == "read":
            _ = self.softcap
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        if self.does == "windowed":
            seen = seen.triu(1 - self.window)
        if self.does == "one more":
            seen = seen.triu(-self.window)
        if self.does == "built":
            seen = self.seen[: x.size(1), : x.size(1)]
        weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize(
    ("module", "cause", "because"),
    [
        (Kept(softcap=50.0), "softcap=50.0", "no call reads it, and scores"),
        (Kept(softcap=50.0, norm=True), "softcap=50.0", "no call reads it, and scores"),
        (Kept("read", softcap=50.0), "softcap=50.0", "though calls read it"),
        (Kept(window=4), "window=4", "no call reads it, and a token sees 7"),
        (Kept(scale=0.5), "scale=0.5", "no call reads it, and scores are multiplied by 0.3536"),
        (
            Kept(sinks=torch.zeros(HEADS)),
            f"sinks=a tensor ({HEADS},)",
            "no call reads it, and equal tokens give what one gives, so no sink takes a share",
        ),
    ],
)
def test_a_knob_that_is_kept_and_ignored_is_caught(module, cause, because):
    finding = of_module(module)
    assert finding.verdict == "fail"
    assert finding.cause == f"accepted and ignored: {cause}"
    assert because in finding.evidence


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (Kept("capped", softcap=50.0), "softcap=50.0 changes the output: with 0.5 no score is"),
        (
            Kept("windowed", window=4),
            "window=4 changes the output: with 2 each token sees 2, itself",
        ),
        (
            Kept("one more", window=4),
            "window=4 changes the output: with 2 each token sees 2, and its",
        ),
        (MultiHeadAttention(DIM, HEADS, scale=0.2), "scale=0.2 changes the output"),
        (
            MultiHeadAttention(
                DIM, HEADS, attend=functools.partial(softcap_attention, softcap=50.0)
            ),
            "attend.softcap=50.0 changes the output: with 0.5 no score is larger",
        ),
    ],
)
def test_a_knob_that_is_kept_and_used_passes(module, said):
    finding = of_module(module)
    assert finding.verdict == "pass"
    assert said in finding.evidence


@pytest.mark.parametrize(
    "module",
    [
        Kept("closure", softcap=5.0),
        Kept("closure", softcap=50.0),
        Kept("built", window=4),
        Kept(scale=(DIM // HEADS) ** -0.5),  # what the scores are multiplied by in any case
    ],
)
def test_what_counts_when_the_module_is_built_is_not_judged(module):
    finding = of_module(module)
    assert finding.verdict == "not judged"
    assert "no call reads it: it counted when the module was built, or is off" in finding.evidence


def test_what_is_off_is_not_asked():
    assert of_module(Kept()).verdict == "not applicable"
    assert of_module(MultiHeadAttention(DIM, HEADS)).verdict == "not applicable"


def test_a_default_that_is_switched_off_is_not_called_ignored():
    class Switched(Kept):
        def __init__(self, capped=False, softcap=50.0):
            super().__init__("capped" if capped else "", softcap)

    assert of_module(Switched()).verdict == "not judged"
    assert of_module(Switched(capped=True)).verdict == "pass"
    assert of_module(Switched(softcap=30.0)).verdict == "fail"


def test_a_knob_that_is_named_must_change_something():
    assert of_module(Kept("windowed", window=4), knobs={"window": 3}).verdict == "pass"
    finding = of_module(Kept("closure", softcap=5.0), knobs={"softcap": 2.0})
    assert finding.cause == "accepted and ignored: softcap=2.0"
    assert "no call reads it" in finding.evidence
    finding = of_module(Kept("capped", softcap=5.0), knobs={"softcap": "large"})
    assert finding.verdict == "not judged"
    assert finding.evidence.startswith("softcap='large' raised TypeError")


def test_what_a_partial_function_swallows_is_caught():
    def swallowing(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **kwargs):
        kwargs.pop("softcap")
        return scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal)

    attend = functools.partial(swallowing, softcap=50.0)
    finding = of_module(MultiHeadAttention(DIM, HEADS, attend=attend))
    assert finding.cause == "accepted and ignored: attend.softcap=50.0"


def test_a_window_of_ours_may_be_claimed():
    module = MultiHeadAttention(DIM, HEADS, window=4)
    report = check_module(module, embed_dim=DIM, causal=True, window=4)
    assert report.passed, report
    report = check_module(module, embed_dim=DIM, causal=True, window=5)
    assert {"attends", "claims"} <= {finding.property for finding in report.failures}


def test_our_sinks_are_parameters_and_seen_as_such():
    module = MultiHeadAttention(DIM, HEADS, attend=SinkAttention(HEADS))
    report = check_module(module, embed_dim=DIM, weights="sinks")
    assert report.passed, report
    assert found(report, PROPERTY).verdict == "not applicable"


def test_the_module_stays_as_it_is():
    module = Kept("capped", softcap=50.0)
    of_module(module)
    assert type(module) is Kept
    assert module.softcap == 50.0


def test_the_config_stays_as_it_is():
    layer = GEMMA2.made("Attention", "eager", 0)
    of_module(layer)
    assert (layer.config.attn_logit_softcapping, layer.attn_logit_softcapping) == (50.0, 50.0)


def test_options_of_calls_and_attributes_are_judged_together():
    class Both(Plain):
        def __init__(self):
            super().__init__()
            self.softcap = 30.0

        def forward(self, x, attn_mask=None, unused=None):
            _ = self.softcap
            return super().forward(x, attn_mask)

    finding = found(
        check_module(Both(), embed_dim=DIM, adapter=Adapter(knobs={"unused": 4})), PROPERTY
    )
    assert finding.cause == "accepted and ignored: unused=4; accepted and ignored: softcap=30.0"


# --- transformers -----------------------------------------------------------------------------


def gemma3(softcap, kind="Attention", *arguments):
    family = next(family for family in DECODERS if family.folder == "gemma3")
    family = replace(family, config=family.config | {"attn_logit_softcapping": softcap})
    return family.made(kind, "eager", *arguments)


def test_the_soft_cap_of_gemma_2_is_used_and_that_of_gemma_3_is_not():
    finding = of_module(GEMMA2.made("Attention", "eager", 0))
    assert "attn_logit_softcapping=50.0 (and 1 more) changes the output" in finding.evidence
    assert of_module(gemma3(None, "Attention", 0)).verdict == "pass"
    finding = of_module(gemma3(50.0, "Attention", 0))
    assert finding.cause == "accepted and ignored: attn_logit_softcapping=50.0"


def test_the_window_of_a_layer_is_its_models_business_and_is_seen_there():
    config = SIZES | {"sliding_window": 4, "num_key_value_heads": 2}
    made = transformers.MistralConfig(**config)
    model = transformers.MistralModel(made)
    finding = of_module(model.layers[0].self_attn)
    assert "a window may be in the mask, which comes from outside" in finding.evidence
    assert "config.sliding_window=4 changes the output" in of_module(model).evidence


def test_the_sinks_of_gpt_oss_are_lost_in_sdpa():
    report = check_module(OSS.made("Attention", "sdpa", 0), embed_dim=DIM, causal=True)
    assert found(report, "projections").cause == "never used: sinks"


def test_sdpa_of_transformers_refuses_a_soft_cap_and_swallows_sinks():
    layer = nn.Module()

    def attend(query, key, value, attn_mask=None, **given):
        return sdpa_attention_forward(
            layer, query, key, value, attn_mask, is_causal=False, **given
        )[0].transpose(1, 2)

    finding = of_function(attend, knobs={"softcap": 2.0})
    assert finding.verdict == "not judged"
    assert "does not support `softcap`" in finding.evidence
    finding = of_function(attend, knobs={"s_aux": torch.ones(10)})
    assert finding.cause == "accepted and ignored: s_aux=a tensor (10,)"
