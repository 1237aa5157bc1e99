"""Functions are described, or guessed at: what is said of them, and what is refused."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from attn_docs.exhibits.foundations import scores_in_half
from attn_docs.testing import check_attention
from attn_docs.testing.formula import Divisor, Hypothesis, divisor_value
from attn_docs.testing.function_subject import HEAD_DIM, HEADS, KEYS, QUERIES, VALUE_DIM
from tests.testing.plain import found, plain, verdicts
from tests.testing.test_functions_right import annotated, capped, flash, halves, inference, single

sdpa = F.scaled_dot_product_attention


def oracle(report):
    return found(report, "oracle")


def test_scores_that_are_too_large_for_half_precision_are_noticed():
    wrong = found(check_attention(scores_in_half.attention), "half precision")
    assert "scores above 65504 before the scale overflow" in wrong.evidence
    right = found(check_attention(sdpa), "half precision")
    assert "scores above 65504 before the scale stay finite" in right.evidence


# --- what is not known ------------------------------------------------------------------------


def cosine(q, k, v, attn_mask=None, is_causal=False):
    """Queries and keys of length one: another formula, and right in all else."""
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    return sdpa(q, k, v, attn_mask, is_causal=is_causal, scale=8.0)


def test_an_unknown_formula_is_not_judged_and_all_else_is():
    report = check_attention(cosine)
    assert report.passed, report
    assert "formula: not judged" in str(report).splitlines()[0]
    found_ = verdicts(report)
    assert {name for name, verdict in found_.items() if verdict == "not judged"} == {
        "oracle",
        "scale",
    }
    for name in ("mask used", "mask place", "mask axis", "causality", "prefix", "padding"):
        assert found_[name] == "pass", report
    assert "not one of the known ways" in oracle(report).evidence
    assert "by the formula (" in oracle(report).evidence  # the smallest input that shows it
    assert check_attention(cosine, require=["oracle"]).verdict == "not judged"


UNKNOWN_AND_WRONG = {
    "mask place": lambda q, k, v, attn_mask=None: (
        cosine(q, k, v)
        if attn_mask is None
        else (cosine(q, k, v, attn_mask) + 0.1 * v.mean(-2, keepdim=True))
    ),
    "mask polarity": lambda q, k, v, attn_mask=None: cosine(
        q, k, v, None if attn_mask is None else ~attn_mask
    ),
    "causality": lambda q, k, v, is_causal=False: cosine(q, k, v) * (1 + 0 * is_causal),
    "oracle": lambda q, k, v: cosine(q, k.detach(), v),
    "weights": lambda q, k, v: cosine(q, k, v) / 2,
    "batch": lambda q, k, v: cosine(q, k.flip(0), v),
    "group order": lambda q, k, v: cosine(
        q, *(x.repeat(1, q.size(1) // x.size(1), 1, 1) for x in (k, v))
    ),
}


@pytest.mark.parametrize("broken", UNKNOWN_AND_WRONG)
def test_what_is_wrong_beside_an_unknown_formula_is_caught(broken):
    report = check_attention(UNKNOWN_AND_WRONG[broken])
    assert verdicts(report)[broken] == "fail", report


@pytest.mark.parametrize("part", ["heads", "numbers", "the end"])
def test_an_unknown_formula_for_a_part_of_the_input_fails(part):
    def attend(q, k, v):
        if part == "heads":  # the ninth and tenth head attend to the first two heads' keys
            return cosine(q, torch.cat([k[:, :8], k[:, : max(q.size(1) - 8, 0)]], 1), v)
        if part == "numbers":
            return cosine(q[..., ::2], k[..., ::2], v)
        bias = 3.0 * (torch.arange(k.size(-2)) > 64)
        return cosine(q, k, v, bias.expand(q.size(-2), -1).to(q))

    report = check_attention(attend)
    cause = {"heads": "heads are mixed", "numbers": "part of each query", "the end": "blocks"}
    assert oracle(report).verdict == "fail", report
    assert cause[part] in oracle(report).cause


def test_a_soft_cap_is_recognised_and_a_claim_is_verified():
    assert check_attention(capped(30.0)).passed
    assert "say softcap=30 if" in oracle(check_attention(capped(30.0))).evidence
    assert oracle(check_attention(capped(30.0))).verdict == "not judged"
    assert oracle(check_attention(capped(30.0), softcap=30.0)).verdict == "pass"
    wrong = check_attention(capped(50.0), softcap=30.0)
    assert oracle(wrong).cause == "scores are soft-capped at 50, expected 30"
    none = check_attention(plain, softcap=30.0)
    assert oracle(none).cause == "no soft-cap is applied, expected 30"


def test_a_soft_cap_that_shows_at_large_scores_alone_is_seen():
    def attend(q, k, v):
        assert q.dtype == torch.float32
        return capped(1000.0)(q, k, v)

    finding = oracle(check_attention(attend, dtype=torch.float32))
    assert finding.verdict == "not judged"
    assert "with a soft-cap of" in finding.evidence


def test_a_soft_cap_hides_no_other_fault():
    def unscaled(q, k, v):
        return (30 * (q @ k.mT / 30).tanh()).softmax(-1) @ v

    report = check_attention(unscaled, softcap=30.0)
    assert "scaled by 1 = 1" in found(report, "scale").cause


# --- what is guessed --------------------------------------------------------------------------


def test_guesses_are_said():
    evidence = oracle(check_attention(annotated)).evidence
    assert "mask is taken for attn_mask" in evidence
    assert "dropout is taken for dropout_p" in evidence
    assert "the first of what it returns is taken for the output" in evidence
    named = check_attention(flash, layout="bnhd", names={"scale": "softmax_scale"})
    assert "softmax_scale" not in oracle(named).evidence
    assert "causal is taken for is_causal" in oracle(named).evidence


def test_the_precision_inside_is_measured_and_said():
    assert "float32 inside" in oracle(check_attention(single)).evidence
    assert "inside" not in oracle(check_attention(plain)).evidence
    only = oracle(check_attention(halves(torch.bfloat16))).evidence
    assert "run in bfloat16, since float64 raised RuntimeError: only torch.bfloat16" in only
    assert "judged in bfloat16" in only


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("wrong", ["scale", "causal", "key"])
def test_a_kernel_for_one_precision_is_judged_in_it(dtype, wrong):
    def attend(q, k, v, is_causal=False):
        assert q.dtype == k.dtype == v.dtype == dtype
        scale = None if wrong == "causal" else 1.0 if wrong == "scale" else None
        if wrong == "key":
            k = k.detach()
        return sdpa(q, k, v, is_causal=is_causal and wrong != "causal", scale=scale)

    report = check_attention(attend, dtype=dtype)
    broken = {"scale": "scale", "causal": "causality", "key": "oracle"}[wrong]
    assert verdicts(report)[broken] == "fail", report


def test_other_axes_of_a_mask_are_tried():
    def four(q, k, v, attention_mask=None):
        return plain(
            q, k, v, None if attention_mask is None else attention_mask[:, :, :, : k.size(-2)]
        )

    report = check_attention(four)
    assert report.passed, report
    assert "a mask has 4 axes, since a mask (n, m) raised IndexError" in oracle(report).evidence


@pytest.mark.parametrize(("meant", "read"), [("blocks", "attends"), ("added", "attends")])
def test_a_mask_that_is_meant_otherwise_is_a_failure_that_says_so(meant, read):
    def attend(q, k, v, mask=None):
        if mask is None:
            return plain(q, k, v)
        return plain(q, k, v, ~mask) if meant == "blocks" else sdpa(q, k, v, mask.to(q.dtype))

    assert check_attention(attend, mask_true=meant).passed
    report = check_attention(attend, mask_true=read)
    evidence = " ".join(finding.evidence for finding in report.failures)
    assert f"it would be right with mask_true={meant!r}" in evidence, report


def test_options_that_keywords_swallow_are_not_claimed():
    def swallows(q, k, v, **_):
        return plain(q, k, v)

    report = check_attention(swallows)
    assert report.passed, report
    assert verdicts(report)["causality"] == "not applicable"
    told = check_attention(swallows, is_causal=True)
    assert verdicts(told)["causality"] == "fail"
    assert found(told, "causality").cause == "the causal mask is not applied"


def test_sizes_and_lengths_are_those_that_are_told():
    seen = set()

    def attend(q, k, v, causal=False):
        seen.add((q.size(-2), k.size(-2), q.size(-1), v.size(-1)))
        return sdpa(q, k, v, is_causal=causal)

    report = check_attention(attend, lengths=[(16, 32)], head_dim=8, value_dim=8)
    assert report.passed, report
    assert {sizes[2:] for sizes in seen} == {(8, 8)}
    assert all(n % 16 == m % 16 == 0 for n, m, *_ in seen)


def test_a_batch_of_one_is_run_at_lengths_that_are_told():
    def squeezes(q, k, v):
        return plain(*(x.squeeze(0) for x in (q, k, v)))

    finding = oracle(check_attention(squeezes, lengths=(16, 16)))
    assert finding.verdict == "fail"
    assert finding.evidence.startswith("a batch of one")


def test_a_kernel_of_inference_is_judged_without_gradients():
    report = check_attention(inference)
    assert [finding.property for finding in report.failures] == ["oracle"]
    assert "backward=False" in oracle(report).cause
    report = check_attention(inference, backward=False)
    assert report.passed
    assert {verdicts(report)[name] for name in ("attends", "causality", "batch")} == {"pass"}


@pytest.mark.parametrize("wrong", ["causality", "batch", "empty rows", "attends"])
def test_a_wrong_kernel_of_inference_is_caught(wrong):
    @torch.no_grad()
    def attend(q, k, v, attn_mask=None, is_causal=False):
        if wrong == "attends":
            return plain(q[..., :1, :] * 0 + q, k, v[..., :1, :].expand_as(v))
        y = plain(q, k, v, attn_mask, is_causal and wrong != "causality")
        if wrong == "empty rows" and attn_mask is not None:
            y = y / attn_mask.any(-1, keepdim=True)
        return y + 0.1 * y.mean(0) if wrong == "batch" else y

    report = check_attention(attend, backward=False)
    assert verdicts(report)[wrong] == "fail", report


# --- what is refused --------------------------------------------------------------------------


def mask_alone(q, k, v, mask=None):
    return plain(q, k, v, mask)


REFUSED = [
    ({"attend": mask_alone, "is_causal": True}, ValueError, "is_causal must be an argument"),
    ({"names": {"is_causal": "causal"}}, ValueError, "which has query, key, value"),
    ({"names": {"causal": "is_causal"}}, ValueError, "names must have keys of attn_mask"),
    ({"names": {"is_causal": 1}}, TypeError, "names must give is_causal the name"),
    ({"names": "mask"}, TypeError, "names must map"),
    (
        {"names": {"attn_mask": "attn_mask"}, "attn_mask": False},
        ValueError,
        "names must not name what attend does not take; got 'attn_mask'",
    ),
    ({"mask_true": True}, ValueError, "mask_true must be one of 'attends', 'blocks', 'added'"),
    ({"layout": "bhdn"}, ValueError, "layout must be one of 'bhnd', 'bnhd', 'hnd'; got 'bhdn'"),
    ({"layout": "hnd"}, ValueError, ""),
    ({"output": 0}, TypeError, "output must be callable; got 0"),
    ({"dtype": "float16"}, TypeError, "dtype must be a torch.dtype or None; got 'float16'"),
    ({"dtype": torch.int8}, ValueError, "dtype must be one of torch.float64"),
    ({"head_dim": 0}, ValueError, "head_dim must be 1 or more; got 0"),
    ({"value_dim": 1.5}, TypeError, "value_dim must be an int; got 1.5"),
    ({"lengths": 5}, TypeError, "lengths must be a pair of numbers, or several; got 5"),
    ({"lengths": [(1, 2, 3)]}, ValueError, "lengths must hold pairs (n, m); got (1, 2, 3)"),
    ({"lengths": (4, 0)}, ValueError, "lengths must be 1 or more; got 0"),
    ({"softcap": 0}, ValueError, "softcap must be above 0; got 0"),
    ({"backward": None}, TypeError, "backward must be True or False; got None"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED)
def test_a_description_that_is_wrong_is_refused(arguments, error, message):
    def four_axes(query, key, value, attn_mask=None, is_causal=False):
        _, _, _, _ = query.shape
        return plain(query, key, value, attn_mask, is_causal)

    options = {"attend": four_axes} | arguments
    with pytest.raises(error) as raised:
        check_attention(options.pop("attend"), **options)
    assert message in str(raised.value)


def test_lengths_that_have_no_multiple_are_refused():
    def only_32(q, k, v):
        assert q.size(-2) == 32, "32 tokens"
        return plain(q, k, v)

    with pytest.raises(ValueError, match="lengths must have a common divisor of which"):
        check_attention(only_32, lengths=(32, 32))


def test_the_divisors_that_are_searched_differ_at_the_sizes_that_are_used():
    how = [Hypothesis(HEADS, HEADS, divisor=name) for name in Divisor.__args__]
    values = {one.divisor: divisor_value(one, HEAD_DIM, HEAD_DIM, QUERIES) for one in how}
    del values["√num_kv_heads"], values["√input_dim"]  # the same by definition here
    values |= {"√keys": math.sqrt(KEYS), "√value_dim": math.sqrt(VALUE_DIM)}
    numbers = sorted(values.values())
    assert all(b - a > 0.1 for a, b in itertools.pairwise(numbers)), values
