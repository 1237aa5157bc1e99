"""The figures on scaled dot-product attention show the numbers and shapes they claim."""

import itertools
import math
import re
import runpy
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import attention_weights, scaled_dot_product_attention
from docs._kit.measured import load
from docs._tools.page import page_module
from tests.kit import parse

benchmark = page_module("foundations/scaled-dot-product", "benchmark")
figures = page_module("foundations/scaled-dot-product", "figures")
tables = page_module("foundations/scaled-dot-product", "tables")

languages = pytest.mark.parametrize("language", ["en", "zh"])


def points(path: str) -> list[tuple[float, float]]:
    """Return every point that a path of absolute commands names."""
    values = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    return list(zip(values[::2], values[1::2], strict=True))


# The blocks


def shapes(root: ET.Element) -> list[tuple[str, tuple[int, ...]]]:
    """Return each written shape, from top to bottom, with the small matrix drawn beside it."""
    grids = {}
    for path in root.iter("path"):
        if outline := re.match(r"M(.+?),(.+?) h(.+?) v(.+?) ", path.attrib["d"]):
            left, top, width, height = map(float, outline.groups())
            lines = path.attrib["d"].split("M")[2:]
            shape = tuple(1 + sum(f" {way}" in line for line in lines) for way in "hv")
            assert width / height == pytest.approx(shape[1] / shape[0])  # the cells are squares
            grids[left + width, top + height / 2] = shape
    found = []
    texts = [text for text in root.iter("text") if " × " in text.text and "V" not in text.text]
    for text in sorted(texts, key=lambda t: (float(t.attrib["y"]), float(t.attrib["x"]))):
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        beside = min((place for place in grids if place[0] < x), key=lambda g: math.dist(g, (x, y)))
        found.append((text.text[-5:], grids.pop(beside)))
    assert not grids
    return found


@languages
def test_shapes_on_the_arrows_are_those_of_the_computation(language):
    n, m, d, e = 3, 5, 4, 2
    query, key, value = torch.randn(n, d), torch.randn(m, d), torch.randn(m, e)
    scores, weights = query @ key.mT, attention_weights(query, key)
    output = scaled_dot_product_attention(query, key, value)
    root = parse(figures.FIGURES["block-diagram"](language))
    assert [shape for _, shape in shapes(root)] == [
        tuple(t.shape) for t in (query, key, value, scores, scores / 2, scores, weights, output)
    ]
    sizes = {"n": n, "m": m, "d": d, "e": e}
    for written, drawn in shapes(root):
        assert tuple(sizes[letter] for letter in written.split(" × ")) == drawn
    assert "n = 3" in root.findtext("desc")


def test_operations_come_in_the_order_of_the_formula():
    root = parse(figures.FIGURES["block-diagram"]("en"))
    bold = [text for text in root.iter("text") if text.get("font-weight") == "bold"]
    bold.sort(key=lambda text: (float(text.attrib["y"]), float(text.attrib["x"])))
    operations = ["QKᵀ", "÷ √d", "+ M", "softmax over keys", "weights × V"]
    assert [text.text for text in bold] == ["Q", "K", "V", *operations, "output"]


# The measurement


def near(actual: float, expected: float, share: float) -> bool:
    return abs(actual - expected) <= share * abs(expected)


def test_without_the_scale_entropy_and_gradient_vanish_and_with_it_they_do_not():
    without, scaled = figures.measure_scale(scaled=False), figures.measure_scale(scaled=True)
    assert without[0][1:] == scaled[0][1:]  # d = 1: the scale is 1
    entropies = [measurement.entropy for measurement in without]
    assert entropies == sorted(entropies, reverse=True)
    assert entropies[-1] < 0.05 * math.log(64)
    assert without[-1].gradient_median < 0.002 * scaled[-1].gradient_median
    assert without[-1].gradient_mean < 0.5 * scaled[-1].gradient_mean
    for measurement in scaled:
        assert 0.85 * math.log(64) < measurement.entropy < math.log(64)
        assert near(measurement.gradient_median, scaled[-1].gradient_median, 0.2)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("head_dim", [1, 16, 256])
def test_measurement_agrees_with_the_softmax_jacobian_on_other_samples(head_dim, scaled):
    torch.manual_seed(1)
    query = torch.randn(80, 50, head_dim, dtype=torch.float64)
    key = torch.randn(80, 64, head_dim, dtype=torch.float64)
    value = torch.randn(80, 1, 64, dtype=torch.float64)
    logits = query @ key.mT * (head_dim**-0.5 if scaled else 1)
    powers = (logits - logits.amax(-1, keepdim=True)).exp()
    weights = powers / powers.sum(-1, keepdim=True)
    gradients = weights * (value - (weights * value).sum(-1, keepdim=True))
    lengths = gradients.square().sum(-1).sqrt()
    (measured,) = figures.measure_scale(scaled=scaled, sizes=(head_dim,))
    entropy = -(weights * weights.clamp_min(1e-300).log()).sum(-1).mean()
    assert near(measured.entropy, entropy.item(), 0.1)
    assert near(measured.gradient_mean, lengths.mean().item(), 0.15)
    # where weights are nearly one-hot, gradients span decades: from seed to seed a sixth
    assert near(measured.gradient_median, lengths.median().item(), 0.5)


def test_numbers_are_the_measurements_with_at_most_four_digits():
    found = figures.numbers()
    assert float(found.pop("entropy_max")) == pytest.approx(math.log(64), rel=5e-3)
    assert found.pop("sure") == "0.99"
    query, keys = torch.randn(2000, 1, 512), torch.randn(2000, 6, 512)
    largest = torch.softmax((query @ keys.mT).squeeze(1), dim=-1).amax(dim=-1)
    share = (largest > 0.99).double().mean().item()
    assert float(found.pop("sure_512").rstrip("%")) / 100 == pytest.approx(share, abs=0.05)
    assert len(found) == 6 * len(figures.SIZES)
    for name, text in found.items():
        field, setting, head_dim = re.fullmatch(r"(\w+)_((?:un)?scaled)_(\d+)", name).groups()
        measured = figures.measure_scale(scaled=setting == "scaled")[
            figures.SIZES.index(int(head_dim))
        ]
        assert measured.head_dim == int(head_dim)
        assert float(text) == pytest.approx(getattr(measured, field), rel=5e-2)
        assert len(re.sub(r"^[0.]+|\.", "", text)) <= 4


# The chart: read as a reader would, from tick labels and titles

TITLES = {
    "en": {
        "entropy": "Entropy of the weights, in nats",
        "gradient": "Gradient at the scores: median, mean",
    },
    "zh": {
        "entropy": "权重的熵（nat）",
        "gradient": "分数处的梯度：中位数、均值",
    },
}
LABELS = {
    "en": {"unscaled": "without 1/√d", "scaled": "with 1/√d", "max": "all weights equal: ln 64"},
    "zh": {"unscaled": "不乘 1/√d", "scaled": "乘以 1/√d", "max": "所有权重相等：ln 64"},
}
FIELDS = {"entropy": "entropy", "gradient": "gradient_median"}
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴", "-01234")


def number(label: str) -> float:
    if label.startswith("10") and label[-1] in "⁰¹²³⁴":
        return 10 ** float(label[2:].translate(SUPERSCRIPTS))
    return float(label)


def fit(places: list[float], values: list[float], *, log: bool):
    """Return the function from a place on an axis to its value, after checking it is one line."""
    scale, back = (math.log, math.exp) if log else (float, float)
    first, last = scale(values[0]), scale(values[-1])
    slope = (last - first) / (places[-1] - places[0])
    for place, value in zip(places, values, strict=True):
        assert first + slope * (place - places[0]) == pytest.approx(scale(value), abs=5e-3)
    return lambda place: back(first + slope * (place - places[0]))


def charts(root: ET.Element, language: str) -> dict[str, SimpleNamespace]:
    """Return each panel's axes, found by the title above it."""
    texts = [(t.text, float(t.attrib["x"]), float(t.attrib["y"]), t) for t in root.iter("text")]
    plain = [points(path.attrib["d"]) for path in root.findall("path")]
    upright = {(p[1][1], p[0][1]) for p in plain if len(p) == 2 and p[0][0] == p[1][0]}
    edges = sorted((min(edge), max(edge)) for edge in upright)
    assert len(edges) == 2
    found = {}
    for top, bottom in edges:
        (title,) = (t for t, x, y, e in texts if e.get("font-weight") and top - 25 < y < top)
        (name,) = (name for name, words in TITLES[language].items() if words == title)
        below = sorted(
            (x, number(t))
            for t, x, y, e in texts
            if bottom < y < bottom + 16 and e.get("text-anchor") == "middle"
        )
        levels = sorted(
            {
                p[0][1]
                for p in plain
                if len(p) == 2 and p[0][1] == p[1][1] and top <= p[0][1] <= bottom
            }
        )
        beside = []
        for text, x, y, element in texts:
            if element.get("text-anchor") == "end" and x < 34 and top <= y - 4.56 <= bottom + 1:
                level = min(levels, key=lambda place, y=y: abs(place - (y - 4.56)))
                assert abs(level - (y - 4.56)) < 0.1
                beside.append((level, number(text)))
        to_x = fit(*map(list, zip(*below, strict=True)), log=True)
        to_y = fit(*map(list, zip(*sorted(beside), strict=True)), log=name != "entropy")
        found[name] = SimpleNamespace(top=top, bottom=bottom, x=to_x, y=to_y)
    return found


def series(root: ET.Element, part: str) -> list[tuple[float, float]]:
    (group,) = (group for group in root.iter("g") if group.get("data-part") == part)
    return points(group.find("path").attrib["d"])


@languages
def test_chart_plots_the_measurements_in_the_panel_that_names_them(language):
    root = parse(figures.FIGURES["sqrt-d"](language))
    for name, panel in charts(root, language).items():
        for setting in ("unscaled", "scaled"):
            measured = figures.measure_scale(scaled=setting == "scaled")
            plotted = series(root, f"{name}-{setting}")
            assert len(plotted) == len(measured)
            for (x, y), measurement in zip(plotted, measured, strict=True):
                assert panel.top <= y <= panel.bottom
                assert panel.x(x) == pytest.approx(measurement.head_dim, rel=2e-3)
                value = getattr(measurement, FIELDS[name])
                assert panel.y(y) == pytest.approx(
                    value, rel=2e-3, abs=1e-3 if name == "entropy" else 0
                )
            if name == "gradient":
                means = series(root, f"{name}-{setting}-mean")
                for (_, y), measurement in zip(means, measured, strict=True):
                    assert panel.y(y) == pytest.approx(measurement.gradient_mean, rel=2e-3)


@languages
def test_level_of_equal_weights_is_ln_64(language):
    root = parse(figures.FIGURES["sqrt-d"](language))
    panel = charts(root, language)["entropy"]
    for _, y in series(root, "entropy-max"):
        assert panel.y(y) == pytest.approx(math.log(64), abs=2e-3)


@languages
def test_each_label_stands_at_its_own_line(language):
    root = parse(figures.FIGURES["sqrt-d"](language))
    for name in FIELDS:
        for setting in ("unscaled", "scaled"):
            (group,) = (
                g for g in root.iter("g") if g.get("data-part") == f"{name}-{setting}-label"
            )
            text = group.find("text")
            assert text.text == LABELS[language][setting]
            x, y = float(text.attrib["x"]), float(text.attrib["y"]) - 4

            def distance(part: str, x: float = x, y: float = y) -> float:
                line = series(root, part)
                return min(math.dist((x, y), point) for point in interpolate(line))

            other = "scaled" if setting == "unscaled" else "unscaled"
            assert distance(f"{name}-{setting}") < distance(f"{name}-{other}")


def interpolate(line: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return points all along a line."""
    return [
        (x + (right - x) * part / 20, y + (below - y) * part / 20)
        for (x, y), (right, below) in itertools.pairwise(line)
        for part in range(21)
    ]


@languages
def test_series_look_the_same_in_all_panels_and_differ_by_more_than_colour(language):
    root = parse(figures.FIGURES["sqrt-d"](language))
    looks = {}
    for setting in ("unscaled", "scaled"):
        for name in FIELDS:
            (group,) = (g for g in root.iter("g") if g.get("data-part") == f"{name}-{setting}")
            line, marker = group.findall("path")[:2]
            look = line.attrib["stroke"], line.get("stroke-dasharray"), marker.attrib["d"]
            assert marker.attrib["fill"] == line.attrib["stroke"]
            assert looks.setdefault(setting, look) == look
    assert all(a != b for a, b in zip(looks["unscaled"], looks["scaled"], strict=True))


@languages
def test_axis_of_head_sizes_is_named(language):
    root = parse(figures.FIGURES["sqrt-d"](language))
    texts = {text.text: float(text.attrib["y"]) for text in root.iter("text")}
    name = {"en": "d, the size of a query", "zh": "查询的维度 d"}[language]
    assert texts[name] == max(texts.values())


# What learning does without the division


@languages
def test_losses_are_drawn_as_they_were_measured_and_the_guess_at_ln_8(language):
    root = parse(figures.FIGURES["learning"](language))
    measured = load(figures.__file__)["learning"]
    for name, scaled in (("unscaled", False), ("scaled", True)):
        drawn, losses = [], []
        for d in benchmark.SIZES:
            line = series(root, f"{name}-{d}")
            learned = {
                rate: measured("loss", step=benchmark.STEPS, d=d, scaled=scaled, rate=rate)
                for rate in benchmark.RATES
            }
            finite = [loss for loss in learned.values() if loss < benchmark.LARGEST]
            assert len(line) == min(len(finite) + 1, len(learned))
            assert list(learned.values())[: len(finite)] == finite  # once torn, torn from there on
            across = [x for x, _ in line]
            units = [
                (x - across[0]) / math.log(rate / benchmark.RATES[0])
                for x, rate in zip(across[1:], benchmark.RATES[1:], strict=False)
            ]
            assert max(units) == pytest.approx(min(units), rel=1e-3)
            drawn += [y for _, y in line]
            losses += list(learned.values())[: len(line)]
        (guess,) = {y for _, y in series(root, f"{name}-guess")}
        low, high = losses.index(min(losses)), losses.index(losses[0])
        unit = (drawn[low] - drawn[high]) / (losses[high] - losses[low])
        zero = drawn[low] + unit * losses[low]
        assert (zero - guess) / unit == pytest.approx(math.log(8), abs=0.02)
        for y, loss in zip(drawn, losses, strict=True):
            if loss < benchmark.LARGEST:
                assert (zero - y) / unit == pytest.approx(loss, abs=0.02)
            else:
                assert (zero - y) / unit == pytest.approx(7, abs=0.02)  # at the panel's top


def test_with_the_division_one_range_of_rates_serves_all_sizes_and_without_it_the_range_slides():
    measured = load(figures.__file__)["learning"]

    def of(d, rate, *, scaled):
        return measured("loss", step=benchmark.STEPS, d=d, scaled=scaled, rate=rate)

    for rate in benchmark.RATES[:8]:  # up to 3
        losses = [of(d, rate, scaled=True) for d in benchmark.SIZES]
        assert max(losses) - min(losses) < 0.4
    learn = {
        d: [rate for rate in benchmark.RATES if of(d, rate, scaled=False) < 1]
        for d in benchmark.SIZES
    }
    assert max(learn[512]) < max(learn[64]) == max(learn[8])
    assert of(512, 0.01, scaled=False) < 0.5 * of(8, 0.01, scaled=False)
    torn = [
        measured("loss", step=step, d=512, scaled=False, rate=1.0)
        for step in (0, 1, 2, benchmark.STEPS)
    ]
    assert torn[1] < torn[0] < torn[2] < torn[3] == benchmark.LARGEST


def test_the_example_that_was_measured_still_gives_those_losses():
    train = runpy.run_path(str(benchmark.EXAMPLE), run_name="other")["train"]
    measured = load(figures.__file__)["learning"]
    for d, rate in ((8, 0.3), (512, 1.0)):
        wanted = [measured("loss", step=s, d=d, scaled=False, rate=rate) for s in range(3)]
        assert train(d, 1.0, rate, 2) == pytest.approx(wanted, rel=1e-2)


def test_without_the_division_a_step_moves_the_scores_d_times_as_far():
    """The factor counts in the score and in the gradient."""
    for size in benchmark.SIZES:
        assert tables.moved_scores(size) == pytest.approx(size, rel=0.3)
    assert [tables.numbers()[f"moved_{size}"] for size in benchmark.SIZES] == ["8", "70", "600"]
    torch.manual_seed(0)
    d = 64
    x, start = torch.randn(8, d).double(), 1e-4 * torch.randn(d, d).double()
    moved = []
    for scale in (1.0, d**-0.5):
        matrix = start.clone().requires_grad_()
        torch.log_softmax(x @ matrix @ x.mT * scale, -1).diagonal().sum().backward()
        moved.append((x @ matrix.grad @ x.mT * scale).norm())
    assert moved[0] / moved[1] == pytest.approx(d, rel=0.05)


# The six keys


@languages
def test_bars_of_the_six_keys_are_their_weights(language):
    root = parse(figures.FIGURES["keys"](language))
    for (size, scaled), weights in figures.six_keys().items():
        bars = [r for r in root.iter("rect") if r.get("data-setting") == f"{size} {scaled}"]
        heights = [float(bar.attrib["height"]) for bar in bars]
        assert sum(weights) == pytest.approx(1)
        assert heights == pytest.approx([74 * weight for weight in weights], abs=0.01)
    printed = {t.text for t in root.iter("text")}
    assert {f"{weight:.2f}" for row in figures.six_keys().values() for weight in row} <= printed
    largest = {setting: max(row) for setting, row in figures.six_keys().items()}
    assert largest[512, False] > 0.99
    assert max(largest[8, False], largest[512, True]) < 0.6


def test_the_program_beside_the_six_keys_prints_their_weights(capsys):
    runpy.run_path("attn_docs/examples/foundations/scaled_dot_product/saturation.py")
    printed = re.findall(r"\d\.\d\d", capsys.readouterr().out)
    drawn = [f"{weight:.2f}" for row in figures.six_keys().values() for weight in row]
    assert printed == drawn
