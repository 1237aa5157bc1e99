"""KV memory of real models: variants, models, what fits beside the weights, numbers."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from attn_docs import KVConfig, KVModel, kv_cache_bytes, load_models, longest_context
from docs._kit.markdown import table
from docs._kit.text import texts

# of all that the chapter on models compares: those whose sizes people ask for
NAMES = (
    "GPT-2 124M",
    "GPT-2 XL",
    "GPT-3 175B",
    "PaLM 8B",
    "PaLM 62B",
    "PaLM 540B",
    "Falcon-7B",
    "Falcon-40B",
    "Llama-2-7B",
    "Llama-2-13B",
    "Llama-2-70B",
    "Llama-3-8B",
    "Llama-3-70B",
    "Llama-3.1-8B",
    "Llama-3.1-70B",
    "Llama-3.1-405B",
    "Llama-3.2-1B",
    "Mistral-7B v0.1",
    "Mistral-7B v0.3",
    "Qwen2.5-0.5B",
    "Qwen2.5-7B",
    "Qwen2.5-72B",
    "Qwen3-0.6B",
    "Qwen3-8B",
    "Qwen3-32B",
    "Qwen3-30B-A3B",
    "Qwen3-235B-A22B",
    "Qwen3.5-0.8B",
    "Gemma-2-2B",
    "Gemma-2-9B",
    "Gemma-2-27B",
    "Gemma-3-1B",
    "Gemma-3-4B",
    "Gemma-3-12B",
    "Gemma-3-27B",
    "Gemma-4-E2B",
    "Gemma-4-E4B",
    "gpt-oss-20b",
    "gpt-oss-120b",
    "Olmo-3-7B",
    "DeepSeek-V2",
    "DeepSeek-V2-Lite",
    "DeepSeek-V3",
    "DeepSeek-V3.2",
)
PUBLISHED = load_models()
MODELS = {name: PUBLISHED[name] for name in NAMES}
CONVERSATION = 8192  # tokens of one user


CHOSEN = (
    "Llama-2-7B",
    "Llama-3.1-8B",
    "Llama-3.1-70B",
    "Mistral-7B v0.1",
    "Qwen3-32B",
    "Gemma-3-27B",
    "Gemma-4-E2B",
    "gpt-oss-20b",
    "DeepSeek-V3",
)
# a model that has such layers, and what one of them caches for a token
VARIANTS = {
    "multi-head": ("Llama-2-7B", "$2hd$"),
    "grouped": ("Llama-3.1-8B", "$2gd$"),
    "multi-query": ("Falcon-7B", "$2d$"),
    "windowed": ("Gemma-3-27B", "$2gd$"),
    "latent": ("DeepSeek-V3", "$d_c + d_r$"),
    "shared": ("Gemma-4-E2B", "$0$"),
    "recurrent": ("Qwen3.5-0.8B", "$0$"),
}


class Card(NamedTuple):
    """A graphics card: the GB in its name, nvidia-smi's MiB, CUDA's GiB, and where they stand."""

    label: int
    mib: int
    source: str
    cuda: float
    cuda_source: str

    @property
    def memory(self) -> int:
        """Bytes that a program finds, in whole MiB."""
        return int(self.cuda * 1024) * 2**20


ISSUES = "https://github.com/{}"
CARDS = {
    name: Card(label, mib, ISSUES.format(shown), cuda, ISSUES.format(found))
    for name, label, mib, shown, cuda, found in (
        (
            "L4",
            24,
            23_034,
            "modal-labs/modal-client/pull/2797",
            22.03,
            "ArcInstitute/evo2/issues/190",
        ),
        ("RTX 4090", 24, 24_564, "RLinf/RLinf/issues/255", 23.64, "ali-vilab/VGen/issues/104"),
        (
            "A100",
            80,
            81_920,
            "modal-labs/modal-client/pull/2797",
            79.25,
            "levihsu/OOTDiffusion/issues/235",
        ),
        ("H100", 80, 81_559, "NVIDIA/nccl/issues/1264", 79.11, "vllm-project/vllm/issues/27508"),
        (
            "H200",
            141,
            143_771,
            "NVIDIA/cuda-samples/issues/311",
            139.8,
            "tile-ai/TileOPs/issues/1592",
        ),
    )
}
SHOWN_CARDS = ("RTX 4090", "H100", "H200")
BESIDE_WEIGHTS = (
    "Llama-2-7B",
    "Llama-2-13B",
    "Llama-3.1-8B",
    "Llama-3.1-70B",
    "Mistral-7B v0.1",
    "Qwen2.5-7B",
    "Qwen3-8B",
    "Qwen3-32B",
    "Gemma-3-12B",
    "Gemma-3-27B",
    "Olmo-3-7B",
    "gpt-oss-20b",
    "gpt-oss-120b",
    "DeepSeek-V2-Lite",
)


def size(count: int) -> str:
    """Return a number of bytes in KiB, MiB or GiB, to four digits."""
    power = 1 if count < 2**20 else 2 if count < 2**30 else 3
    return f"{count / 1024**power:,.4g} {('KiB', 'MiB', 'GiB')[power - 1]}"


def per_token(model: KVModel) -> int:
    """Return the bytes that the first token adds: every layer that grows caches it."""
    return kv_cache_bytes(model.config, 1) - kv_cache_bytes(model.config, 0)


def multi_head_factor(model: KVModel) -> float:
    """Return how many times as much a key and a value for each query head would take."""
    config = model.config
    if model.key_dim:
        (latent,) = config.kinds
        heads = model.num_heads * (model.key_dim + model.value_dim)
        return heads / (latent.entry + latent.index_dim)
    return model.num_heads / config.num_kv_heads


def fitting(model: KVModel, card: str) -> int | None:
    """Return how many tokens fit on a card beside the weights; −1 if these do not fit."""
    room = CARDS[card].memory - model.weight_bytes
    return -1 if room < 0 else longest_context(model.config, room)


def about(count: int) -> str:
    """Return a number to two digits: what is not counted makes the others meaningless."""
    return f"{float(f'{count:.2g}'):,.0f}"


def gib(count: int) -> str:
    """Return bytes in GiB, to three digits."""
    return f"{count / 2**30:.3g} GiB"


def _layers(model: KVModel, language: str) -> str:
    """Describe the layers: how many of each kind, and how many of them cache something."""
    text = texts(__file__, "layers", language)
    # of a model with a state, one layer in so many has keys
    states = sum(kind.count for kind in model.config.kinds if not kind.entry)
    parts = []
    for kind in model.config.kinds:
        if not kind.entry:
            continue
        sign = f"{{}} ({kind.window:,})" if kind.window else "{}"
        sign = text["latent"] if model.key_dim else sign
        layers, caching = kind.count + states, kind.caching
        count = text["of"].format(caching, layers) if caching < layers else layers
        parts.append(sign.format(count).replace(" ", "\N{NO-BREAK SPACE}"))
    return " + ".join(parts)


def models(language: str) -> str:
    """Return one row for each model: its sizes, and its KV cache for a token and at full length."""
    text = texts(__file__, "models", language)
    days = sorted({model.read for model in MODELS.values()})
    caption = text["caption"].format(days=text["comma"].join(days))
    return f"{table(text['header'], _rows(MODELS, language))}\n\n{caption}"


def chosen(language: str) -> str:
    """Return the rows of a few models."""
    text = texts(__file__, "models", language)
    return f"{table(text['header'], _rows(CHOSEN, language))}\n\n{text['columns']}"


def _rows(names: Iterable[str], language: str) -> list[tuple[str, ...]]:
    rows = []
    for model in map(MODELS.__getitem__, names):
        config = model.config
        heads, head = f"{model.num_heads}, {config.num_kv_heads}", str(config.head_dim)
        if model.key_dim:
            heads, head = str(model.num_heads), f"{model.key_dim}, {model.value_dim}"
        elif config.windowed_head_dim:
            head = f"{config.head_dim}, {config.windowed_head_dim}"
        elif model.num_heads * config.head_dim != model.embed_dim:
            head = f"**{head}**"
        count = per_token(model) / 1024
        rows.append(
            (
                f"[{model.name}]({model.source})",
                _layers(model, language),
                f"{model.embed_dim:,}",
                heads,
                head,
                f"{count:,.3f}".rstrip("0").rstrip("."),
                f"{multi_head_factor(model):.3g}×",
                f"{model.context:,}",
                size(kv_cache_bytes(config, model.context)).replace(" ", "\N{NO-BREAK SPACE}"),
            )
        )
    return rows


def elements(config: KVConfig, kind: str) -> int:
    """Return how many elements one layer of a kind caches for a token."""
    if kind == "latent":
        return config.kv_rank + config.rope_dim
    if kind in ("shared", "recurrent"):
        return 0
    return 2 * config.num_kv_heads * config.head_dim


def variants(language: str) -> str:
    """Return what one layer of each variant caches for a token, with a model that has it."""
    text = texts(__file__, "variants", language)
    rows = []
    for kind, (name, tex) in VARIANTS.items():
        count = elements(MODELS[name].config, kind)
        rows.append((text[kind], tex, text["of"][kind], name, f"{count:,}"))
    return f"{table(text['header'], rows)}\n\n{text['caption']}"


def cards(language: str) -> str:
    """Return what the names of cards promise, what nvidia-smi shows and what CUDA reports."""
    text = texts(__file__, "cards_table", language)
    rows = [
        (
            name,
            f"{card.label} GB",
            f"[{card.mib:,} MiB]({card.source})",
            f"{card.mib / 1024:.4g} GiB",
            f"[{card.cuda:.4g} GiB]({card.cuda_source})",
            f"{card.memory / 1e9:.1f} GB",
        )
        for name, card in CARDS.items()
    ]
    return f"{table(text['header'], rows)}\n\n{text['caption']}"


def fits(language: str) -> str:
    """Return how many tokens of one sequence fit beside the weights on three cards."""
    text = texts(__file__, "fits", language)
    rows = []
    for name in BESIDE_WEIGHTS:
        model = MODELS[name]
        counts = [fitting(model, card) for card in SHOWN_CARDS]
        shown = [text["any"] if n is None else text["none"] if n < 0 else about(n) for n in counts]
        bits = 8 * model.weight_bytes / model.parameters
        rows.append(
            (
                f"[{name}]({model.parameters_source})",
                f"{model.parameters:,}",
                f"{bits:.3g}",
                gib(model.weight_bytes),
                *shown,
            )
        )
    header = (*text["header"], *(f"{card}, {gib(CARDS[card].memory)}" for card in SHOWN_CARDS))
    return f"{table(header, rows)}\n\n{text['caption']}"


TABLES = {"variants": variants, "chosen": chosen, "models": models, "cards": cards, "fits": fits}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    llama, gemma = MODELS["Llama-3.1-8B"], MODELS["Gemma-3-27B"]
    config = gemma.config
    all_full = KVConfig(
        full_layers=config.num_layers,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
    )
    mistral, deepseek = MODELS["Mistral-7B v0.1"].config, MODELS["DeepSeek-V3"]
    small = MODELS["Gemma-4-E2B"].config
    unshared = replace(small, shared_full_layers=0, shared_windowed_layers=0)
    card = CARDS["RTX 4090"]
    room = card.memory - llama.weight_bytes
    paper = card.mib * 2**20 - llama.weight_bytes
    each = kv_cache_bytes(llama.config, CONVERSATION)
    wide = {name: MODELS[name].embed_dim // MODELS[name].num_heads for name in MODELS}
    return {
        "models": str(len(MODELS)),
        "token": size(per_token(llama)),
        "conversation": size(kv_cache_bytes(llama.config, CONVERSATION)),
        "length": f"{CONVERSATION:,}",
        "users": str(room // each),
        "users_on_paper": str(paper // each),
        "on_paper_left": f"{paper % each / 2**20:.0f} MiB",
        "room": f"{room / 2**30:.1f} GiB",
        "each_of_eight": f"{longest_context(llama.config, room, 8):,}",
        "each_of_nine": f"{longest_context(llama.config, room, 9):,}",
        "card": gib(card.mib * 2**20),
        "card_cuda": f"{card.cuda:.4g} GiB",
        "gpt2_xl_token": size(per_token(MODELS["GPT-2 XL"])),
        "llama_70b_token": size(per_token(MODELS["Llama-3.1-70B"])),
        "long": f"{llama.context:,}",
        "llama_long": size(kv_cache_bytes(llama.config, llama.context)),
        "llama_weights": gib(llama.weight_bytes),
        "llama_2_long": size(kv_cache_bytes(MODELS["Llama-2-7B"].config, llama.context)),
        "gemma_long": gib(kv_cache_bytes(config, gemma.context)),
        "gemma_all_full": size(kv_cache_bytes(all_full, gemma.context)),
        "gemma_window": f"{config.window:,}",
        "gemma_27b_divided": str(wide["Gemma-2-27B"]),
        "deepseek_divided": str(wide["DeepSeek-V3"]),
        "mistral_most": size(kv_cache_bytes(mistral, mistral.window)),
        "deepseek_factor": f"{multi_head_factor(deepseek):.0f}",
        "deepseek_same_size": f"{2 * 128 * 128 / 576:.0f}",
        "shared_long": size(kv_cache_bytes(small, 131_072)),
        "shared_counted": gib(kv_cache_bytes(unshared, 131_072)),
        "crossover": f"{round(llama.weight_bytes / per_token(llama), -2):,.0f}",
        **_rounding(),
    }


def _rounding() -> dict[str, str]:
    """Return what rounding does to a model that nearly fits: three answers for one card."""
    model, card = MODELS["Llama-3.1-70B"], CARDS["H200"]
    exact, rounded, label = model.weight_bytes, 2 * 70 * 10**9, card.label * 10**9
    if not rounded < label < exact < card.memory:
        raise AssertionError((rounded, label, exact, card.memory))
    return {
        "llama_70b_parameters": f"{model.parameters:,}",
        "llama_70b_rounded": f"{rounded / 1e9:.0f} GB",
        "llama_70b_weights": f"{exact / 1e9:.1f} GB",
        "llama_70b_label": f"{card.label} GB",
        "llama_70b_reported": f"{card.memory / 1e9:.1f} GB",
        "llama_70b_promised": about(longest_context(model.config, label - rounded)),
        "llama_70b_beside": about(longest_context(model.config, card.memory - exact)),
        "gpt_oss_weights": gib(MODELS["gpt-oss-20b"].weight_bytes),
        "gpt_oss_large": gib(MODELS["gpt-oss-120b"].weight_bytes),
        "gpt_oss_bits": f"{MODELS['gpt-oss-20b'].quantized_bits:g}",
        "gpt_oss_bfloat16": gib(2 * MODELS["gpt-oss-20b"].parameters),
        "gpt_oss_beside": about(fitting(MODELS["gpt-oss-20b"], "RTX 4090")),
    }
