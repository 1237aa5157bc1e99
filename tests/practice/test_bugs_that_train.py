"""Each wrong layer looks right from outside, trains as the page says, and is caught by name."""

import math
import re
import types
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from attn_docs import MultiHeadAttention
from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.exhibits.practice import softmax_over_heads
from attn_docs.practice.bugs_that_train import (
    EMBED_DIM,
    LENGTH,
    NUM_HEADS,
    ROUND,
    WORDS,
    NextWord,
    fit,
    rounds,
    train,
)
from attn_docs.testing import PROPERTIES, check_module
from docs._tools.blocks import ROOT
from docs._tools.bugs import FOLDER, RIGHT
from docs._tools.page import page_module

bugs = page_module("practice/bugs-that-train", "bugs")
tables = page_module("practice/bugs-that-train", "tables")

every_bug = pytest.mark.parametrize("name", bugs.ORDER)
PAGES = sorted((ROOT / "docs/practice/bugs-that-train").glob("*.md"))


def source(name: str) -> str:
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def mended(name: str) -> tuple[str, torch.nn.Module]:
    """Return an exhibit with its marked line as it should be, and a layer built from it."""
    text = re.sub(
        r"^( *)\S.*  # wrong: .*$", rf"\g<1>{bugs.BUGS[name].right}", source(name), flags=re.M
    )
    module = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102 - our own file
    torch.manual_seed(0)
    options = {"num_kv_heads": 2} if bugs.BUGS[name].grouped else {}
    return text, module.Attention(EMBED_DIM, NUM_HEADS, **options)


def without_comments(text: str) -> list[str]:
    lines = (line.partition("  # ")[0] for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("#", '"""', "import "))]


def test_every_exhibit_is_in_the_order_of_the_page() -> None:
    assert sorted(bugs.ORDER) == sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    assert len(bugs.ORDER) >= 32
    assert set(bugs.COLUMNS) == set(PROPERTIES)


@every_bug
def test_one_line_differs_from_the_right_layer(name: str) -> None:
    text, _ = mended(name)
    good = without_comments(RIGHT.read_text(encoding="utf-8"))
    assert without_comments(text) == good
    bad = without_comments(source(name))
    assert sum(a != b for a, b in zip(bad, good, strict=True)) == 1


@every_bug
def test_mending_the_line_makes_the_layer_right(name: str) -> None:
    x, context = torch.randn(3, 5, EMBED_DIM), torch.randn(3, 7, EMBED_DIM)
    mask = torch.rand(5, 7) > 0.5
    _, layer_mended = mended(name)
    good = bugs.layer("right", grouped=bugs.BUGS[name].grouped)
    good.load_state_dict(layer_mended.state_dict())
    options = {"attn_mask": mask, "context": context}
    outputs = []
    for module in (good, layer_mended):
        torch.manual_seed(1)
        outputs.append((module(x, **options), module.eval()(x, is_causal=True)))
    for one, other in zip(*outputs, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("grouped", [False, True])
def test_right_layer_passes_everything(grouped: bool) -> None:
    found = bugs.report("right", grouped=grouped)
    assert found.passed
    skipped = [f.property for f in found.findings if f.verdict == "not applicable"]
    assert skipped == [*([] if grouped else ["group order"]), "rotation", "options used"]


def test_right_layer_is_multi_head_attention() -> None:
    good = right.Attention(EMBED_DIM, NUM_HEADS).double().eval()
    ours = MultiHeadAttention(EMBED_DIM, NUM_HEADS).double().eval()
    ours.load_state_dict(good.state_dict())
    x = torch.randn(2, 6, EMBED_DIM, dtype=torch.float64)
    mask = torch.rand(6, 6) > 0.4
    for options in ({}, {"is_causal": True}, {"attn_mask": mask}):
        torch.testing.assert_close(good(x, **options), ours(x, **options), rtol=0, atol=1e-12)


@every_bug
def test_shape_is_right(name: str) -> None:
    x = torch.randn(2, 5, EMBED_DIM)
    assert bugs.layer(name, grouped=bugs.BUGS[name].grouped)(x).shape == x.shape


@every_bug
def test_it_trains_as_the_page_says(name: str) -> None:
    run = bugs.training(name)
    assert run.kind == bugs.BUGS[name].trains
    losses = bugs.losses(name, grouped=bugs.BUGS[name].grouped)  # the first of the stored runs
    if run.kind == "breaks":
        assert [math.isnan(loss) for loss in losses] == [
            i >= run.finite for i in range(len(losses))
        ]
    else:
        assert len(run.runs) == 5
        assert bugs.last(losses) == pytest.approx(run.runs[0], abs=0.02)
        assert bugs.last(losses) < losses[0] - 0.5


@pytest.mark.parametrize(
    "name", ["right", *(n for n in bugs.ORDER if bugs.training(n).kind == "better")]
)
def test_of_the_losses_below_the_right_one_a_single_one_has_seen_an_answer(name: str) -> None:
    """Tokens that can only be guessed cost the others more than a guess; the rest is learned."""
    attention = bugs.layer(name)
    torch.manual_seed(0)
    model = NextWord(attention).double()
    fit(model)
    words = rounds(2048, torch.Generator().manual_seed(1))
    with torch.no_grad():
        losses = cross_entropy(model(words[:, :-1]).mT, words[:, 1:], reduction="none")
    is_token = words[:, :-1] > 0
    unknown = is_token & (is_token.cumsum(1) < ROUND)
    assert (losses[unknown].mean() < bugs.entropy()) == (name == "scrambled_heads")
    if name not in ("right", "scrambled_heads"):
        assert losses[is_token & ~unknown].mean() < 0.15


def test_only_with_an_added_infinity_does_zeroing_the_weights_come_too_late() -> None:
    good = "weights = torch.softmax(scores.masked_fill(some & ~allowed, -math.inf), dim=-1)"
    filled = good.replace("some & ~", "~") + ".masked_fill(~allowed, 0.0)"
    added = filled.replace("scores.masked_fill(", "scores + torch.zeros_like(scores).masked_fill(")
    text = RIGHT.read_text(encoding="utf-8")
    assert good in text
    for line, trains in ((filled, True), (added, False)):
        module = types.ModuleType("zeroed")
        exec(compile(text.replace(good, line), "zeroed", "exec"), module.__dict__)  # noqa: S102
        torch.manual_seed(0)
        losses = train(module.Attention(EMBED_DIM, NUM_HEADS), steps=3)
        assert [math.isfinite(loss) for loss in losses] == [True, trains, trains]


def test_the_value_projection_that_is_not_called_gets_no_gradient() -> None:
    module = bugs.layer("value_is_input")
    module(torch.randn(2, 5, EMBED_DIM)).sum().backward()
    assert module.v_proj.weight.grad is None


def test_the_floor_is_the_loss_of_whoever_knows_all_that_can_be_known() -> None:
    words = rounds(20_000, torch.Generator().manual_seed(0))
    shares = 1 / torch.arange(1, WORDS, dtype=torch.float64)
    guess = -(shares / shares.sum()).log()
    predicted = (words[:, :-1] > 0).sum()
    not_known = words[:, 1:][(words[:, :-1] > 0) & ((words[:, :-1] > 0).cumsum(1) < ROUND)]
    assert not_known.numel() == 3 * len(words)
    loss = guess[not_known - 1].sum() / predicted
    assert loss == pytest.approx(bugs.floor(), abs=0.005)
    assert guess[words[words > 0] - 1].mean() == pytest.approx(bugs.entropy(), abs=0.01)
    honest = [*bugs.ended("right"), *bugs.ended("right", steps=600)]
    assert min(honest) > bugs.floor()
    assert min(bugs.ended("none")) > bugs.entropy()


@every_bug
def test_report_and_cause_do_not_say_the_same(name: str) -> None:
    found = bugs.finding(name)
    assert found.cause == found.evidence or found.cause not in found.evidence


def test_nothing_trains_on_chance_alone() -> None:
    for name in ("right", "none"):
        losses = bugs.losses(name)
        assert losses[0] > 2.9
        assert bugs.last(losses) == pytest.approx(bugs.ended(name)[0], abs=0.02)


@every_bug
def test_report_names_the_bug(name: str) -> None:
    found = bugs.finding(name)
    assert found.verdict == "fail"
    assert bugs.BUGS[name].cause in found.cause


@every_bug
def test_no_other_failure_names_another_cause(name: str) -> None:
    main = bugs.BUGS[name].cause
    for found in bugs.report(name, grouped=bugs.BUGS[name].grouped).failures:
        assert main in found.cause or found.cause in {
            "later positions change earlier ones: see causality",
            # of the same line: 1e4 * ~allowed is in float32
            "numbers of two precisions meet: cast what was computed in float32 back",
            "samples are mixed: see batch",
        }, found


@every_bug
def test_report_of_the_mended_layer_is_the_right_ones(name: str) -> None:
    # it is the right layer, as the tests above show, whose report passes
    assert bugs.report("right", grouped=bugs.BUGS[name].grouped).passed
    assert not bugs.report(name, grouped=bugs.BUGS[name].grouped).passed


def test_chance_and_state_are_each_found_by_one_property() -> None:
    for names in bugs.SECTIONS["chance"].values():
        for name in names:
            assert bugs.verdicts(name).count("fail") == 1


def test_bugs_of_the_formula_fail_the_oracle() -> None:
    for name in bugs.ORDER:
        assert (bugs.BUGS[name].property in bugs.SECTIONS["formula"]) == (
            bugs.verdicts(name)[bugs.COLUMNS.index("oracle")] == "fail"
        )


def test_softmax_over_heads_trains_without_a_mask() -> None:
    x = torch.randn(2, 5, EMBED_DIM)
    assert softmax_over_heads.Attention(EMBED_DIM, NUM_HEADS)(x).isfinite().all()


def test_transposed_mask_has_the_curve_of_the_ignored_mask() -> None:
    assert bugs.losses("transposed_mask") == pytest.approx(bugs.losses("ignored_mask"), abs=1e-6)


def test_a_finite_fill_passes() -> None:
    text = RIGHT.read_text(encoding="utf-8").replace("some & ~allowed, -math.inf", "~allowed, -1e4")
    text = text.replace("return weights * some", "return weights")
    module = types.ModuleType("finite")
    exec(compile(text, "finite", "exec"), module.__dict__)  # noqa: S102 - our own file
    assert check_module(module.Attention(32, 4), embed_dim=32, causal=True, num_heads=4).passed


def test_rows_repeat_four_words_after_padding() -> None:
    words = rounds(200, torch.Generator().manual_seed(0))
    assert words.shape == (200, LENGTH + 1)
    assert words.max() < WORDS
    is_word = words > 0
    assert (is_word.sum(1) >= LENGTH // 2 + 1).all()
    assert (is_word[:, 1:] | ~is_word[:, :-1]).all()  # padding on the left alone
    again = is_word[:, :-ROUND]
    assert torch.equal(words[:, ROUND:][again], words[:, :-ROUND][again])
    shares = [(words == word).sum() for word in (1, 2, 4)]
    assert shares[0] > 1.5 * shares[1] > 2 * shares[2]


def test_loss_is_one_step_of_next_word() -> None:
    torch.manual_seed(0)
    model = NextWord(None).double()
    words = rounds(32, torch.Generator().manual_seed(0))
    inputs, targets = words[:, :-1], words[:, 1:]
    scores = model(inputs)[inputs > 0]
    expected = cross_entropy(scores, targets[inputs > 0]).item()
    assert bugs.losses("none")[0] == pytest.approx(expected, abs=1e-12)


def atlas(page: Path) -> str:
    """Return the part of a page in which each property has its section."""
    return page.read_text(encoding="utf-8").partition("{ #the-formula }")[2]


every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@every_page
def test_page_has_a_place_for_each_property_and_each_bugs_lines(page) -> None:
    """A property with bugs has a heading; the others stand beside it, with their anchors."""
    text = atlas(page)
    ending = ".zh.md" if page.name.endswith(".zh.md") else ".md"
    bugs_of = {prop: names for part in bugs.SECTIONS.values() for prop, names in part.items()}
    headings = re.findall(r"^### .*\{ #([a-z-]+) \}$", text, re.M)
    assert headings == [name.replace(" ", "-") for name, names in bugs_of.items() if names]
    anchors = re.findall(r'^(?:- )?<a id="([a-z-]+)"></a>', text, re.M)
    assert anchors == [name.replace(" ", "-") for name, names in bugs_of.items() if not names]
    shown = re.findall(r"bugs-that-train/made/([a-z-]+?)(?:\.zh)?\.md", text)
    assert shown == [name.replace("_", "-") for name in bugs.ORDER]
    assert text.count(f'{ending}"\n') == len(bugs.ORDER)


@every_page
def test_each_bug_stands_under_its_property_in_a_fold_that_is_closed(page) -> None:
    for section in atlas(page).split("\n### ")[1:]:
        anchor = re.match(r".*\{ #([a-z-]+) \}\n", section)[1]
        shown = re.findall(r"^--8<-- .*made/([a-z-]+).*\n\n(?:\S.*\n)+\n</details>$", section, re.M)
        made_for = [b.name for b in bugs.BUGS.values() if b.property.replace(" ", "-") == anchor]
        assert shown == [name.replace("_", "-") for name in made_for]
        assert section.count("</details>") == len(shown)


@pytest.mark.parametrize("language", ["en", "zh"])
@every_bug
def test_title_of_a_bug_says_how_it_trains_and_its_fold_has_an_address(name, language) -> None:
    text = tables.TABLES[name.replace("_", "-")](language)
    assert text.startswith(f'<details class="bug" id="bug-{name.replace("_", "-")}" markdown="1">')
    title, *rest = text.partition("</summary>")
    words = tables.texts(tables.__file__, "short", language)
    kind = bugs.training(name).kind
    assert [said for said, short in words.items() if title.endswith(short)] == [kind]
    lines = [line for line in "".join(rest).splitlines() if line.startswith("- ")]
    assert len(lines) == len(set(lines))
    assert f"- {bugs.BUGS[name].wrong}\n+ {bugs.BUGS[name].right}\n" in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_symptoms_lead_to_each_bug_once_with_what_its_report_says(language) -> None:
    rows = [line.split(" | ") for line in tables.TABLES["symptoms"](language).splitlines()[2:]]
    led = {re.search(r"\(#bug-([a-z-]+)\)", row[2])[1].replace("-", "_"): row for row in rows}
    assert sorted(led) == sorted(bugs.ORDER)
    assert len(rows) == len(bugs.ORDER)
    for name, (_, said, _) in led.items():
        prop, cause = re.findall(r"`([^`]+)`", said)
        assert prop == bugs.BUGS[name].property
        assert cause in bugs.finding(name).cause
    hidden = ("same", "as well")
    same = [led[name][0] for name in bugs.ORDER if bugs.training(name).kind in hidden]
    assert len(same) == len(set(same))  # what a right layer's curve hides is said one by one


@pytest.mark.parametrize("seed", range(2, 5))
def test_the_first_program_tells_the_two_apart_with_other_seeds(seed, capsys) -> None:
    path = ROOT / "attn_docs/examples/practice/bugs_that_train/core.py"
    text = path.read_text(encoding="utf-8").replace("manual_seed(0)", f"manual_seed({seed})")
    exec(compile(text, path.name, "exec"), {})  # noqa: S102 - our own file
    assert capsys.readouterr().out.endswith("[True, False]\n")


def test_what_a_bug_is_called_has_no_twin() -> None:
    for language in ("en", "zh"):
        names = tables.texts(tables.__file__, "bugs", language)
        assert list(names) == bugs.ORDER
        assert len(set(names.values())) == len(names)


def test_a_map_is_what_moves_an_output_when_a_word_is_moved() -> None:
    """By small steps, in a layer trained anew by the function that others call."""
    attention = bugs.layer("right")
    torch.manual_seed(0)
    model = NextWord(attention).double()
    fit(model)
    model.eval()
    words = torch.tensor([bugs.ROW])
    mask = (words > 0)[:, None, None].repeat(1, 1, LENGTH, 1)
    x = (model.words(words) + model.places).detach()
    sizes = torch.zeros(LENGTH, LENGTH, dtype=torch.float64)
    for column in range(LENGTH):
        for number in range(EMBED_DIM):
            step = torch.zeros_like(x)
            step[0, column, number] = 1e-6
            with torch.no_grad():
                ends = [attention(x + s, attn_mask=mask, is_causal=True) for s in (step, -step)]
            sizes[:, column] += ((ends[0] - ends[1])[0] / 2e-6).square().sum(-1)
    sizes = sizes.sqrt()
    shares = sizes / sizes.sum(-1, keepdim=True).clamp_min(1e-12)
    torch.testing.assert_close(bugs.dependence("right", bugs.ROW), shares, rtol=0, atol=1e-5)


def test_maps_show_what_the_page_says_of_them() -> None:
    back, later = (dict(zip(bugs.MAPS, found, strict=True)) for found in zip(
        *map(bugs.taken, bugs.MAPS), strict=True
    ))  # fmt: skip
    assert back["right"] > 0.75 > 2 * back["scrambled_heads"]
    assert later["right"] == later["ignored_mask"] == 0
    assert min(later["causal_only_in_training"], later["scrambled_heads"]) > 0.2
    shares = bugs.dependence("ignored_mask", bugs.ROW)
    padding = bugs.ROW.count(0)
    assert (shares[padding : 2 * padding, :padding].sum(1) > 0.5).all()  # not so in the right layer
    assert bugs.dependence("right", bugs.ROW)[padding:, :padding].sum() == 0


def test_training_a_layer_is_training_its_model() -> None:
    torch.manual_seed(3)
    losses = fit(NextWord(None).double(), steps=5, seed=3)
    assert losses == train(None, steps=5, seed=3)
