"""The figure of the primer on statistics, and the shares that its sentences name."""

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


def numbers() -> dict[str, str]:
    """Return the shares and the variances that the sentences name."""
    die = torch.arange(1.0, 7.0)
    dice = (die + die[:, None]).flatten()
    within = (products(64).abs() < 8).double().mean().item()
    even = torch.softmax(torch.tensor([2.0, 0.0]), dim=0)[0].item()
    sharp = torch.softmax(torch.tensor([8.0, 0.0]), dim=0)[0].item()
    return {
        "within": f"{within:.0%}",
        "even": f"{even:.2f}",
        "sharp": f"{sharp:.4f}",
        "die": f"{die.var(correction=0).item():.2f}",
        "dice": f"{dice.var(correction=0).item():.2f}",
    }


FIGURES: dict[str, Callable[[str], str]] = {"spread": spread}
