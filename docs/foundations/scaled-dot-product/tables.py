"""What scaled dot-product attention costs, and the softmax explorer with its table."""

import functools
import json
import math

import torch
from torch import Tensor

from attn_docs import masked_softmax
from docs._kit import form
from docs._kit.markdown import table

HEAD_DIM = 64
LENGTHS = (128, 1024, 8192)


def flops(n: int, m: int, d: int, e: int) -> int:
    """Count the operations of QKᵀ and of weights times V, a multiply-add as two."""
    return 2 * n * m * d + 2 * n * m * e


def weight_bytes(n: int, m: int, dtype: torch.dtype = torch.float32) -> int:
    """Count the bytes of one head's weights."""
    return n * m * dtype.itemsize


def cost(language: str) -> str:
    """Return operations and memory of one head against length."""
    header = {
        "en": ("length $n = m$", "parameters", "operations", "weights in float32"),
        "zh": ("长度 $n = m$", "参数量", "运算次数", "float32 权重占用"),
    }[language]
    rows = (
        (
            f"{n:,}",
            "0",
            f"{flops(n, n, HEAD_DIM, HEAD_DIM) / 1e6:,.1f} M",
            f"{weight_bytes(n, n) / 2**20:,.4g} MiB",
        )
        for n in LENGTHS
    )
    caption = {
        "en": f"One head, $d = e = {HEAD_DIM}$. One M is a million, one MiB is $2^{{20}}$ bytes.",
        "zh": f"一个头，$d = e = {HEAD_DIM}$。1 M 即百万，1 MiB 即 $2^{{20}}$ 字节。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


POWERS = 11  # d = 1, 2, 4, …, 1024
KEYS = 6
SEED = 3
TABULATED = (1, 4, 16, 64, 256, 1024)
EXPLORED = 6  # the explorer starts with d = 64


@functools.cache
def partial_scores() -> Tensor:
    """Return the dot products of a random query and six random keys after 1, 2, 4, … components.

    The components are independent and unit-normal. The scores are rounded to the four digits that
    the page holds, so that all that is computed from them agrees.
    """
    generator = torch.Generator().manual_seed(SEED)
    size = 2 ** (POWERS - 1)
    query = torch.randn(size, generator=generator, dtype=torch.float64)
    keys = torch.randn(KEYS, size, generator=generator, dtype=torch.float64)
    ends = [2**power - 1 for power in range(POWERS)]
    return (query * keys).cumsum(-1)[:, ends].mT.round(decimals=4)


def explored(power: int, *, scaled: bool = True, temperature: float = 1.0) -> dict[str, Tensor]:
    """Return scores, logits, weights, and the weights' entropy and the length of their Jacobian."""
    scores = partial_scores()[power]
    logits = scores * (2 ** (-power / 2) if scaled else 1.0) / temperature
    weights = masked_softmax(logits)
    jacobian = weights.diag() - weights.unsqueeze(1) * weights
    return {
        "score": scores,
        "logit": logits,
        "weight": weights,
        "entropy": torch.special.entr(weights).sum(),
        "gradient": jacobian.norm(),
    }


def softmax(language: str) -> str:
    """Return what the softmax does with the scores of six keys, with and without the division."""
    header = {
        "en": (
            "$d$",
            "largest weight",
            "entropy",
            "$\\lVert J \\rVert$",
            "without: largest weight",
            "entropy",
            "$\\lVert J \\rVert$",
        ),
        "zh": (
            "$d$",
            "最大的权重",
            "熵",
            "$\\lVert J \\rVert$",
            "不除：最大的权重",
            "熵",
            "$\\lVert J \\rVert$",
        ),
    }[language]
    rows = []
    for size in TABULATED:
        row = [f"{size:,}"]
        for scaled in (True, False):
            found = explored(int(math.log2(size)), scaled=scaled)
            row += [f"{found['weight'].max():.3f}", f"{found['entropy'].abs():.3f}"]
            row.append(f"{found['gradient']:.2g}")
        rows.append(tuple(row))
    caption = {
        "en": f"One random query and {KEYS} random keys, of which the first $d$ components count. "
        "Columns two to four are with the division by $\\sqrt{d}$, the last three without it.",
        "zh": f"一个随机的查询和 {KEYS} 个随机的键，只算前 $d$ 个分量。"
        "第二到四栏除以 $\\sqrt{d}$，最后三栏不除。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


_SOFTMAX = {
    "en": {
        "label": "Softmax explorer",
        "power": "Size d",
        "temperature": "Temperature",
        "scale": "Divide by √d",
        "caption": "One query and six keys",
        "key": "key",
        "score": "q · k",
        "logit": "logit",
        "weight": "weight",
        "entropy": "Entropy",
        "gradient": "Length of the derivative ‖J‖",
        "colon": ": ",
    },
    "zh": {
        "label": "softmax 试验台",
        "power": "维度 d",
        "temperature": "温度",
        "scale": "除以 √d",
        "caption": "一个查询和六个键",
        "key": "键",
        "score": "q · k",
        "logit": "logit",
        "weight": "权重",
        "entropy": "熵",
        "gradient": "导数的范数 ‖J‖",
        "colon": "：",
    },
}


def softmax_explorer(language: str) -> str:
    """Return the form of the softmax explorer with what it shows at first, and its data."""
    text = _SOFTMAX[language]
    found = explored(EXPLORED)
    columns = zip(*(found[name].tolist() for name in ("score", "logit", "weight")), strict=True)
    rows = [
        f'<tr><th scope="row">{key}</th><td>{score:.2f}</td><td>{logit:.2f}</td>'
        f'<td>{weight:.3f} <svg aria-hidden="true"><rect width="{100 * weight:.1f}%" height="100%">'
        "</rect></svg></td></tr>"
        for key, (score, logit, weight) in enumerate(columns)
    ]
    heads = "".join(
        f'<th scope="col">{text[name]}</th>' for name in ("key", "score", "logit", "weight")
    )
    values = {"entropy": f"{found['entropy']:.3f}", "gradient": f"{found['gradient']:#.3g}"}
    results = "<br>".join(
        f'{text[name]}{text["colon"]}<b data-of="{name}">{value}</b>'
        for name, value in values.items()
    )
    lines = (
        form.start("softmax-explorer", text["label"], {}),
        "<div>",
        form.label("softmax", "power", text["power"]),
        form.slider("softmax", "power", (0, POWERS - 1, 1), EXPLORED, str(2**EXPLORED)),
        form.label("softmax", "temperature", text["temperature"]),
        form.slider("softmax", "temperature", (0.25, 4, 0.25), 1, "1"),
        form.tick("softmax", "scale", text["scale"], ticked=True),
        "</div>",
        f'<table class="weights"><caption>{text["caption"]}</caption>',
        f"<thead><tr>{heads}</tr></thead>",
        f"<tbody>{''.join(rows)}</tbody></table>",
        f'<output aria-live="polite">{results}</output>',
        "</form>",
        f'<script id="softmax-scores" type="application/json">{_data()}</script>',
    )
    return "\n".join(lines)


def _data() -> str:
    return json.dumps(partial_scores().tolist(), separators=(",", ":"))


TABLES = {"cost": cost, "softmax": softmax, "softmax-explorer": softmax_explorer}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    powers = torch.exp(torch.tensor([0.0, 1.0, 1.0]) / math.sqrt(3))
    weights = powers / powers.sum()
    return {
        "blind_guess": f"{math.log(8):.1f}",
        "float16_max": f"{torch.finfo(torch.float16).max:,.0f}",
        "sum_one_query": f"{powers.sum():.4f}",
        "weight_high": f"{weights[1]:.4f}",
        "weight_low": f"{weights[0]:.4f}",
    }
