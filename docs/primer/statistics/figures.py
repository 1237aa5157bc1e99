"""The figures of the primer on statistics, and the shares that its sentences name."""

import math
from collections.abc import Callable

import drawsvg
import torch
from torch import Tensor

from docs._kit.draw import ACCENT, INK, SOFT, canvas, finish, write
from docs._kit.text import texts

LEFT, WIDTH, HEIGHT, EDGE = 20, 350, 84, 25
SIZES = (4, 64)


def products(size: int) -> Tensor:
    """Return 10,000 dot products of vectors of normal numbers."""
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 10_000, size, generator=generator)
    return (q * k).sum(-1)


def counts(size: int) -> Tensor:
    """Return how many of the products lie between each two whole numbers."""
    return torch.histc(products(size), bins=2 * EDGE, min=-EDGE, max=EDGE)


def across(product: float) -> float:
    """Return where a dot product is drawn."""
    return LEFT + WIDTH * (product + EDGE) / (2 * EDGE)


def spread(language: str) -> str:
    """Draw how often each dot product comes up, for short and for long vectors."""
    text = texts(__file__, "spread", language)
    drawing = canvas(390, 2 * (HEIGHT + 50) + 26)
    for index, size in enumerate(SIZES):
        _histogram(drawing, 26 + index * (HEIGHT + 50), size, text)
    floor = 2 * (HEIGHT + 50)
    for product in range(-20, 21, 10):
        write(drawing, f"{product}".replace("-", "−"), across(product), floor - 10, 11)
    write(drawing, f"{text['product']} →", LEFT + WIDTH, floor + 10, 12, text_anchor="end")
    return finish(
        drawing.as_svg(header=""), "primer-statistics-spread", text["title"], text["desc"]
    )


def _histogram(drawing: drawsvg.Drawing, top: float, size: int, text: dict) -> None:
    """Draw a histogram over the part that is at most one standard deviation from zero."""
    deviation = size**0.5
    floor, left, right = top + HEIGHT, across(-deviation), across(deviation)
    write(drawing, text["size"].format(size=size), LEFT, top - 12, text_anchor="start")
    drawing.append(drawsvg.Rectangle(left, top, right - left, HEIGHT, fill=SOFT))
    most = counts(SIZES[0]).max()  # of the narrowest: both have one scale
    for bin_, count in enumerate((counts(size) / most).tolist()):
        if count:
            x, height = across(bin_ - EDGE), (HEIGHT - 6) * count
            bar = (x + 0.5, floor - height, WIDTH / (2 * EDGE) - 1, height)
            drawing.append(drawsvg.Rectangle(*bar, fill=ACCENT, data_count=round(count, 2)))
    drawing.append(drawsvg.Line(LEFT, floor, LEFT + WIDTH, floor, stroke=INK))
    write(drawing, f"± {deviation:g}", right + 6, top + 10, 12, text_anchor="start")


LEADS, UP = (1, 2, 8), 64  # of a score over the other, and how high the tallest bar is


def pairs(lead: int) -> dict[str, list[float]]:
    """Return two scores of which one leads, and what softmax makes of them."""
    scores = torch.tensor([float(lead), 0.0])
    return {"scores": scores.tolist(), "shares": torch.softmax(scores, dim=0).tolist()}


def leads(language: str) -> str:
    """Draw two scores and their shares, for three leads."""
    text = texts(__file__, "leads", language)
    drawing = canvas(390, 238)
    for index, lead in enumerate(LEADS):
        left = 82 + 108 * index
        write(drawing, text["lead"].format(lead=lead), left + 44, 8, font_weight="bold")
        for (name, found), floor in zip(pairs(lead).items(), (110, 228), strict=True):
            most = max(LEADS) if name == "scores" else 1
            for place, number in enumerate(found):
                x, height = left + 46 * place, UP * number / most
                bar = {"fill": ACCENT, "data_of": f"{lead} {name}", "data_number": number}
                drawing.append(drawsvg.Rectangle(x + 6, floor - height, 32, height, **bar))
                said = f"{number:g}" if name == "scores" else f"{number:.{_digits(lead)}f}"
                write(drawing, said, x + 22, floor - height - 9, 11)
            drawing.append(drawsvg.Line(left, floor, left + 90, floor, stroke=INK))
    for name, floor in (("scores", 110), ("shares", 228)):
        write(drawing, text[name], 0, floor - 24, 12, text_anchor="start", font_weight="bold")
    said = {f"lead_{lead}": f"{pairs(lead)['shares'][0]:.{_digits(lead)}f}" for lead in LEADS}
    desc = text["desc"].format(**said)
    return finish(drawing.as_svg(header=""), "primer-statistics-leads", text["title"], desc)


def _digits(lead: int) -> int:
    """Return how many digits a share needs so that it does not round to one."""
    return 4 if lead == max(LEADS) else 2


def numbers() -> dict[str, str]:
    """Return the shares and the variances that the sentences name."""
    die = torch.arange(1.0, 7.0)
    dice = (die + die[:, None]).flatten()
    within = (products(64).abs() < 8).double().mean().item()
    sharp = pairs(8)["shares"][0]
    return {
        "e": f"{math.e:.3f}",
        "within": f"{within:.0%}",
        "sharp": f"{sharp:.4f}",
        "die": f"{die.var(correction=0).item():.2f}",
        "dice": f"{dice.var(correction=0).item():.2f}",
    }


FIGURES: dict[str, Callable[[str], str]] = {"spread": spread, "leads": leads}
