"""The figures of the primer on gradients, and the slopes that its sentences name."""

from collections.abc import Callable

import drawsvg
import torch

from docs._kit.draw import ACCENT, ACCENT_2, INK, canvas, finish, write
from docs._kit.text import texts

LEFT, TOP, WIDTH, HEIGHT = 46, 34, 320, 150
LOW, HIGH, AT = -3.0, 5.0, 1.0
START, RATE, STEPS = -5.0, 0.5, 40
LOSSES = {"log": lambda weight: -torch.log(weight), "plain": lambda weight: 1 - weight}
TOP_LOSS, FAR = 7.0, 6.0


def weight(score: torch.Tensor) -> torch.Tensor:
    """Return the first of three weights, whose other two scores are zero."""
    return torch.softmax(torch.stack([score, 0 * score, 0 * score]), dim=0)[0]


def slope_at(score: float) -> tuple[float, float]:
    """Return the weight and how fast it changes with the score, as PyTorch computes them."""
    s = torch.tensor(score, dtype=torch.float64, requires_grad=True)
    w = weight(s)
    w.backward()
    assert s.grad is not None  # noqa: S101
    return w.item(), s.grad.item()


def place(score: float, share: float) -> tuple[float, float]:
    """Return where a score and its weight are drawn."""
    return LEFT + WIDTH * (score - LOW) / (HIGH - LOW), TOP + HEIGHT * (1 - share)


def slope(language: str) -> str:
    """Draw a weight against its score, with the tangent at a score of 1."""
    text = texts(__file__, "slope", language)
    drawing = canvas(390, TOP + HEIGHT + 46)
    _axes(drawing, text)
    scores = torch.linspace(LOW, HIGH, 81, dtype=torch.float64)
    curve = drawsvg.Path(fill="none", stroke=ACCENT, stroke_width=2.5)
    for index, (s, w) in enumerate(zip(scores.tolist(), weight(scores).tolist(), strict=True)):
        (curve.L if index else curve.M)(*place(s, w))
    drawing.append(curve)
    height, rise = slope_at(AT)
    ends = [place(AT + step, height + rise * step) for step in (-1.6, 1.6)]
    drawing.append(drawsvg.Line(*ends[0], *ends[1], stroke=ACCENT_2, stroke_width=2))
    x, y = place(AT, height)
    drawing.append(drawsvg.Rectangle(x - 4, y - 4, 8, 8, rx=4))
    write(drawing, text["slope"].format(slope=f"{rise:.2f}"), x + 12, y + 14, text_anchor="start")
    desc = text["desc"].format(**numbers())
    return finish(drawing.as_svg(header=""), "primer-gradients-slope", text["title"], desc)


def _axes(drawing: drawsvg.Drawing, text: dict) -> None:
    write(drawing, f"↑ {text['weight']}", LEFT - 30, 12, 12, text_anchor="start")
    write(drawing, f"{text['score']} →", LEFT + WIDTH, TOP + HEIGHT + 36, 12, text_anchor="end")
    thin = {"stroke": INK, "stroke_opacity": 0.25}
    for share in (0.0, 0.5, 1.0):
        (x, y), (right, _) = place(LOW, share), place(HIGH, share)
        drawing.append(drawsvg.Line(x, y, right, y, **thin))
        write(drawing, f"{share:g}", x - 8, y, 11, text_anchor="end")
    for score in range(int(LOW), int(HIGH) + 1, 2):
        x, y = place(score, 0)
        drawing.append(drawsvg.Line(x, y, x, y + 4, **thin))
        write(drawing, f"{score}".replace("-", "−"), x, y + 14, 11)


def descent(loss: str) -> tuple[list[float], list[float]]:
    """Return the first score's lead over the two others and the loss, at each of 40 steps."""
    scores = torch.tensor([START, 0, 0], dtype=torch.float64, requires_grad=True)
    leads, losses = [], []
    for _ in range(STEPS + 1):
        value = LOSSES[loss](torch.softmax(scores, dim=0)[0])
        (gradient,) = torch.autograd.grad(value, scores)
        leads.append((scores[0] - scores[1]).item())
        losses.append(value.item())
        with torch.no_grad():
            scores -= RATE * gradient
    return leads, losses


def downhill(language: str) -> str:
    """Draw both losses against the first score's lead, and where 40 steps on each lead."""
    text = texts(__file__, "downhill", language)
    drawing = canvas(390, TOP + HEIGHT + 46)
    write(drawing, f"↑ {text['loss']}", LEFT - 30, 12, 12, text_anchor="start")
    write(drawing, f"{text['lead']} →", LEFT + WIDTH, TOP + HEIGHT + 36, 12, text_anchor="end")
    _downhill_axes(drawing)
    for name, colour in (("log", ACCENT), ("plain", ACCENT_2)):
        leads = torch.linspace(-FAR, FAR, 97, dtype=torch.float64)
        curve = drawsvg.Path(fill="none", stroke=colour, stroke_width=2.5)
        values = LOSSES[name](weight(leads)).tolist()
        for index, (lead, value) in enumerate(zip(leads.tolist(), values, strict=True)):
            (curve.L if index else curve.M)(*spot(lead, value))
        drawing.append(curve)
        for lead, value in zip(*descent(name), strict=True):
            x, y = spot(lead, value)
            dot = drawsvg.Rectangle(x - 3.5, y - 3.5, 7, 7, rx=3.5, fill=colour, data_loss=name)
            drawing.append(dot)
    write(drawing, text["log"], *spot(-3.6, 4.9), 12, text_anchor="start")
    write(drawing, text["plain"], *spot(-5.6, 1.5), 12, text_anchor="start")
    return finish(
        drawing.as_svg(header=""),
        "primer-gradients-downhill",
        text["title"],
        text["desc"].format(**numbers()),
    )


def spot(lead: float, loss: float) -> tuple[float, float]:
    """Return where a lead and its loss are drawn."""
    return LEFT + WIDTH * (lead + FAR) / (2 * FAR), TOP + HEIGHT * (1 - loss / TOP_LOSS)


def _downhill_axes(drawing: drawsvg.Drawing) -> None:
    thin = {"stroke": INK, "stroke_opacity": 0.25}
    for loss in (0, 2, 4, 6):
        (x, y), (right, _) = spot(-FAR, loss), spot(FAR, loss)
        drawing.append(drawsvg.Line(x, y, right, y, **thin))
        write(drawing, f"{loss}", x - 8, y, 11, text_anchor="end")
    for lead in (-5, 0, 5):
        x, y = spot(lead, 0)
        drawing.append(drawsvg.Line(x, y, x, y + 4, **thin))
        write(drawing, f"{lead}".replace("-", "−"), x, y + 14, 11)


def numbers() -> dict[str, str]:
    """Return the slopes and weights that the sentences name."""
    (height, rise), (further, _) = slope_at(AT), slope_at(AT + 0.1)
    flat = slope_at(HIGH)[1]
    low_weight, low = slope_at(START)
    ends = {name: LOSSES[name](weight(torch.tensor(descent(name)[0][-1]))) for name in LOSSES}
    return {
        "low": f"{low:.3f}",
        "low_log": f"{low / low_weight:.3f}",
        "log_end": f"{torch.exp(-ends['log']).item():.2f}",
        "plain_end": f"{1 - ends['plain'].item():.3f}",
        "weight": f"{height:.4f}",
        "slope": f"{rise:.4f}",
        "tenth": f"{0.1 * rise:.4f}",
        "guess": f"{height + 0.1 * rise:.4f}",
        "further": f"{further:.4f}",
        "flat": f"{flat:.2f}",
    }


FIGURES: dict[str, Callable[[str], str]] = {"slope": slope, "downhill": downhill}
