"""What decoding reads and computes in real models, and how busy that keeps a fast machine."""

from typing import NamedTuple

from attn_docs import DecodeCost, decode_cost, latent_decode_cost, projection_cost
from docs._kit.markdown import table

# NVIDIA's H100 SXM: dense bfloat16 FLOP and bytes in a second
H100_FLOPS, H100_BYTES = 989.4e12, 3.35e12
LENGTH = 8192


class Model(NamedTuple):
    """The heads of a model: query heads, key heads (0 if latent), size of a head."""

    heads: int
    kv_heads: int
    head_dim: int


KV_RANK, ROPE_DIM = 512, 64  # DeepSeek-V3
MODELS = {
    "Llama 2 7B": Model(32, 32, 128),
    "Llama 3 8B": Model(32, 8, 128),
    "Llama 3 70B": Model(64, 8, 128),
    "Falcon-7B": Model(71, 1, 64),
    "DeepSeek-V3": Model(128, 0, 192),
}
KINDS = {
    "en": ("multi-head", "grouped-query", "grouped-query", "multi-query", "latent"),
    "zh": ("多头", "分组查询", "分组查询", "多查询", "潜在"),
}


def cost(name: str, length: int = LENGTH) -> DecodeCost:
    """Return what one layer's attention computes and reads for a new word, in bfloat16."""
    model = MODELS[name]
    if model.kv_heads == 0:
        return latent_decode_cost(length, num_heads=model.heads, kv_rank=KV_RANK, rope_dim=ROPE_DIM)
    return decode_cost(
        length, num_heads=model.heads, num_kv_heads=model.kv_heads, head_dim=model.head_dim
    )


def ridge() -> float:
    """Return the intensity at which an H100 computes as long as it reads."""
    return H100_FLOPS / H100_BYTES


def busy(name: str) -> float:
    """Return the part of an H100's FLOP rate that reading the cache leaves in use, at most."""
    return min(1.0, cost(name).intensity / ridge())


def variants(language: str) -> str:
    """Return FLOP, bytes and intensity of the models' attention."""
    header = {
        "en": (
            "model",
            "attention",
            "query heads",
            "key heads",
            "FLOP per word kept",
            "bytes per word kept",
            "FLOP per byte",
            "H100 computes at most",
        ),
        "zh": (
            "模型",
            "注意力",
            "查询头",
            "键头",
            "每个缓存词的 FLOP",
            "每个缓存词的字节",
            "每字节 FLOP",
            "H100 的算力最多用上",
        ),
    }[language]
    rows = []
    for (name, model), kind in zip(MODELS.items(), KINDS[language], strict=True):
        word = cost(name, 1)
        rows.append(
            (
                name,
                kind,
                str(model.heads),
                str(model.kv_heads or "—"),
                f"{word.flops:,.0f}",
                f"{word.bytes:,.0f}",
                f"{word.intensity:,.0f}",
                f"{busy(name):.1%}".replace("%", " %"),
            )
        )
    caption = {
        "en": "One layer, one new word, bfloat16: for each word in the cache. An H100 SXM computes "
        f"{H100_FLOPS / 1e12:.0f} TFLOP and reads {H100_BYTES / 1e12:.2f} TB in a second, by its "
        f"data sheet: {ridge():.0f} FLOP for each byte.",
        "zh": "一层，一个新词，bfloat16：按缓存里的每个词计。根据数据手册，H100 SXM 每秒计算 "
        f"{H100_FLOPS / 1e12:.0f} TFLOP，读取 {H100_BYTES / 1e12:.2f} TB："
        f"每字节 {ridge():.0f} FLOP。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


TABLES = {"variants": variants}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    sizes = {"num_heads": 32, "num_kv_heads": 8, "head_dim": 128}
    weights = projection_cost(4096, **sizes)
    return {
        "ridge": f"{ridge():.0f}",
        "h100_flops": f"{H100_FLOPS / 1e12:.0f}",
        "h100_bytes": f"{H100_BYTES / 1e12:.2f}",
        "latent": f"{cost('DeepSeek-V3').intensity:.0f}",
        "latent_factor": f"{cost('DeepSeek-V3').intensity / 128:.2f}",
        "busy_multi_head": f"{busy('Llama 2 7B'):.1%}".replace("%", " %"),
        "together": f"{weights.bytes / decode_cost(1, **sizes).bytes:,.0f}",
    }
