"""Figures of the home page, and how much it leads to."""

from collections.abc import Callable

import drawsvg

from docs._kit.draw import ON_ACCENT, STAGES, box, finish, stage_grid, write
from docs._tools.page import DOCS, Place, folders

_MAP = {
    "en": {
        "title": "The map of attention",
        "desc": "The nine stages that an attention mechanism goes through, in order. {stages}.",
        "stage": "{name}: {work}",
        "link": "{stage} ({chapter})",
        "join": ("; ", " "),
    },
    "zh": {
        "title": "注意力地图",
        "desc": "注意力机制依次经过的九个阶段。{stages}。",
        "stage": "{name}：{work}",
        "link": "{stage}（{chapter}）",
        "join": ("；", ""),
    },
}
# What a stage does, in lines short enough for its card.
_WORK = {
    "en": {
        "project": ("make queries,", "keys, values"),
        "split": ("several", "attentions,", "in parallel"),
        "place": ("tell where", "each token", "stands"),
        "score": ("how well does", "each key fit", "the query?"),
        "mask": ("which keys", "may the query", "see?"),
        "normalise": ("turn scores", "into weights", "that sum to 1"),
        "mix": ("average the", "values by", "weight"),
        "merge": ("put the heads", "side by side"),
        "output": ("blend them", "into the", "output"),
    },
    "zh": {
        "project": ("得到查询、", "键和值"),
        "split": ("几个注意力", "并行工作"),
        "place": ("标明每个词元", "在哪里"),
        "score": ("每个键与查询", "有多匹配？"),
        "mask": ("查询可以", "看到哪些键？"),
        "normalise": ("把分数变成", "和为 1 的权重"),
        "mix": ("按权重", "求值的平均"),
        "merge": ("把各头的结果", "拼在一起"),
        "output": ("融合成", "最终的输出"),
    },
}
# Where each stage leads: a page as the home page names it, and what its card calls that place.
LINKS = {
    "project": ("self-attention/four-steps/index.md", {"en": "Self-attention", "zh": "自注意力"}),
    "split": ("heads/multi-head/index.md", {"en": "Multi-head", "zh": "多头注意力"}),
    "place": ("position/rotary/index.md", {"en": "Rotary position", "zh": "旋转位置编码"}),
    "score": (
        "foundations/scoring-functions/index.md",
        {"en": "Scoring functions", "zh": "打分函数"},
    ),
    "mask": ("foundations/masks/index.md", {"en": "Masks", "zh": "掩码"}),
    "normalise": (
        "foundations/scaled-dot-product/index.md#why-softmax",
        {"en": "Why softmax?", "zh": "为什么用 softmax"},
    ),
    "mix": (
        "foundations/query-key-value/index.md#mixing-the-values",
        {"en": "Mixing values", "zh": "混合各个值"},
    ),
    "merge": (
        "heads/multi-head/index.md#splitting-and-merging",
        {"en": "Split and merge", "zh": "拆分与合并"},
    ),
    "output": (
        "heads/multi-head/index.md#what-the-output-projection-mixes",
        {"en": "What it mixes", "zh": "它混合了什么"},
    ),
}


class _Link(drawsvg.DrawingParentElement):
    TAG_NAME = "a"


def attention_map(language: str) -> str:
    """Draw the nine stages as cards, each saying what it does and leading to a chapter about it."""
    text, works = _MAP[language], _WORK[language]
    lines = max(map(len, works.values()))
    width, head = 106, 28
    height = head + 16 * lines + 36
    between, within = text["join"]
    stages = {
        stage: text["stage"].format(name=STAGES[stage][language], work=within.join(work))
        for stage, work in works.items()
    }

    def draw(group: drawsvg.Group, stage: str, x: float, y: float) -> None:
        address, chapter = LINKS[stage]
        label = text["link"].format(stage=stages[stage], chapter=chapter[language])
        card = _Link(href=address, aria_label=label)
        box(card, x, y, width, height)
        box(card, x, y, width, head, lit=True)
        name = {"fill": ON_ACCENT, "font_weight": "bold"}
        write(card, STAGES[stage][language], x + width / 2, y + head / 2, **name)
        for index, line in enumerate(works[stage]):
            write(card, line, x + width / 2, y + head + 16 + 16 * index, 12)
        write(card, chapter[language], x + width / 2, y + height - 14, 11)
        group.append(card)

    drawing = stage_grid(width, height, draw)
    desc = text["desc"].format(stages=between.join(stages.values()))
    return finish(drawing.as_svg(header=""), "index-map", text["title"], desc, zoom=1.4)


FIGURES: dict[str, Callable[[str], str]] = {"map": attention_map}


def numbers() -> dict[str, str]:
    """Return how many pages there are in each language, and how many of them are chapters."""
    pages = [
        Place(folder, "zh")
        for folder in folders()
        if "\nredirect: " not in (DOCS / folder / "index.zh.md").read_text(encoding="utf-8")
    ]
    chapters = [page for page in pages if page.is_chapter]
    return {
        "chapters": str(len(chapters)),
        "pages": str(len(pages)),
    }
