"""Figures of the home page."""

from collections.abc import Callable

import drawsvg

from attn_docs.figures._draw import ON_ACCENT, STAGES, box, finish, stage_grid, write

_MAP = {
    "en": {
        "title": "The map of attention",
        "desc": "The nine stages that an attention mechanism goes through, in order. {stages}.",
        "stage": "{name}: {work}",
        "join": ("; ", " "),
    },
    "zh": {
        "title": "注意力地图",
        "desc": "注意力机制依次经过的九个阶段。{stages}。",
        "stage": "{name}：{work}",
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


def attention_map(language: str) -> str:
    """Draw the nine stages as cards, each saying in a few words what it does."""
    text, works = _MAP[language], _WORK[language]
    lines = max(map(len, works.values()))
    width, head = 104, 30

    def draw(group: drawsvg.Group, stage: str, x: float, y: float) -> None:
        box(group, x, y, width, head + 16 * lines + 16)
        box(group, x, y, width, head, lit=True)
        name = {"fill": ON_ACCENT, "font_weight": "bold"}
        write(group, STAGES[stage][language], x + width / 2, y + head / 2, **name)
        for index, line in enumerate(works[stage]):
            write(group, line, x + width / 2, y + head + 16 + 16 * index, 12)

    drawing = stage_grid(width, head + 16 * lines + 16, draw)
    between, within = text["join"]
    stages = between.join(
        text["stage"].format(name=STAGES[stage][language], work=within.join(work))
        for stage, work in works.items()
    )
    desc = text["desc"].format(stages=stages)
    return finish(drawing.as_svg(header=""), "index-map", text["title"], desc, zoom=1.4)


FIGURES: dict[str, Callable[[str], str]] = {"map": attention_map}
