"""What each property of the checker asks."""

from attn_docs.testing import PROPERTIES
from attn_docs.testing.function import CHECKS as OF_FUNCTIONS
from attn_docs.testing.module import CHECKS as OF_MODULES
from docs._kit.markdown import table

_CHINESE = {
    "oracle": "输出与公式一致，只差舍入",
    "scale": "分数除以头维度的平方根",
    "weights": "权重是键上的一个分布",
    "value projection": "值来自它自己的投影",
    "projections": "每个投影的每个权重都影响输出",
    "head layout": "拆分和合并多头时不混淆位置",
    "group order": "相邻的查询头共用一个键头和值头",
    "mask used": "掩码会改变输出",
    "mask polarity": "`True` 表示可以关注",
    "mask axis": "掩码的行是查询，列是键",
    "mask place": "掩码在 softmax 之前去掉键",
    "causality": "训练和评估时，未来都没有梯度传回来",
    "prefix": "截短的序列给出同样的开头",
    "padding": "填充位置里放什么都不影响结果，无论在左在右",
    "empty rows": "没有键可以关注的查询，输出和梯度都是有限的",
    "packing": "同一行里的文档互相看不见",
    "batch": "同一批的样本互相看不见",
    "permutation": "没有位置信息时，打乱输入，输出就同样打乱",
    "cross-attention": "键和值来自上下文，不论它多长",
    "dropout": "dropout 作用于权重，并保持均值",
    "dropout off in eval": "评估时什么都不丢弃",
    "cache": "逐步或分块计算与一次算完相同",
    "half precision": "float16 结果有限，并接近 float64",
    "input unchanged": "参数保持原样",
    "deterministic": "同样的调用给出同样的结果",
}


def properties(language: str) -> str:
    """Return each property, what it asks, and which of the two checkers asks it."""
    header = {
        "en": ("property", "what it asks", "function", "module"),
        "zh": ("性质", "它问什么", "函数", "模块"),
    }[language]
    asks = PROPERTIES if language == "en" else _CHINESE
    rows = (
        (
            f"`{name}`",
            asks[name],
            "✓" if name in OF_FUNCTIONS else "",
            "✓" if name in OF_MODULES else "",
        )
        for name in PROPERTIES
    )
    return table(header, rows).replace("---:", ":--", 1).replace("---:", ":-:")


TABLES = {"properties": properties}


def numbers() -> dict[str, str]:
    """Return the numbers that the page's sentences use."""
    return {"of_functions": str(len(OF_FUNCTIONS)), "properties": str(len(PROPERTIES))}
