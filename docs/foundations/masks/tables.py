"""What masks cost, and the form of the mask explorer."""

import torch

from attn_docs import causal_mask, padding_mask, to_additive
from docs._kit import form
from docs._kit.markdown import table

BATCH = 8
LENGTHS = (128, 1024, 8192)


def mask_bytes(n: int) -> dict[str, int]:
    """Count the bytes of each mask for a batch of texts of n words."""
    item = {
        "padding": padding_mask([1])[:, None, None, :],
        "causal": causal_mask(1),
        "additive": to_additive(causal_mask(1)),
    }
    return {
        "padding": BATCH * n * item["padding"].element_size(),
        "causal": n * n * item["causal"].element_size(),
        "both": BATCH * n * n * item["causal"].element_size(),
        "additive": BATCH * n * n * item["additive"].element_size(),
    }


def cost(language: str) -> str:
    """Return the memory of masks against length."""
    header = {
        "en": (
            "length $n = m$",
            "padding $b \\times 1 \\times m$",
            "causal $n \\times m$",
            "both $b \\times n \\times m$",
            "both, additive float32",
        ),
        "zh": (
            "长度 $n = m$",
            "填充 $b \\times 1 \\times m$",
            "因果 $n \\times m$",
            "两者 $b \\times n \\times m$",
            "两者，加性 float32",
        ),
    }[language]
    rows = (
        (f"{n:,}", *(f"{size // 2**10:,} KiB" for size in mask_bytes(n).values())) for n in LENGTHS
    )
    caption = {
        "en": f"A batch of $b = {BATCH}$ texts. One KiB is $2^{{10}}$ bytes.",
        "zh": f"一个批次 $b = {BATCH}$ 段文本。1 KiB 即 $2^{{10}}$ 字节。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


EXPLORED = 5  # queries and keys of the causal mask that the explorer starts with
LARGEST = 8
SIZES = {"window": 2, "prefix": 2, "padding": 1}
_EXPLORER = {
    "en": {
        "label": "Mask explorer",
        "comma": ", ",
        "space": " ",
        "n": "Queries",
        "m": "Keys",
        "causal": "Causal",
        "causal-by": "Alignment of the causal mask",
        "first": "first with first",
        "last": "last with last",
        "window": "Sliding window",
        "window-by": "Width of the window, in keys",
        "prefix": "Prefix that all may see",
        "prefix-by": "Length of the prefix, in keys",
        "padding": "Padding at the end",
        "padding-by": "Length of the padding, in keys",
        "caption": "Rows are queries, columns are keys. 1: may attend, 0: may not.",
        "corner": "query",
        "summary": "{allowed} of {all} pairs may attend. Keys that the queries see, in turn: "
        "{counts}.",
        "empty": "Queries with no key: {empty}.",
        "copy": "Copy",
        "where": "given to",
        "how": "as, and what it means there",
        "attends": "<code>True</code> attends",
        "blocks": "<code>True</code> <strong>blocks</strong>",
        "added": "0 attends, −∞ blocks",
        "integers": "1 attends, 0 is padding",
        "is-causal": "the same without a mask",
        "no-mask": "all may attend: no mask is needed",
        "sdpa": "<code>F.scaled_dot_product_attention</code>, <code>attn_mask</code>; this site",
        "function": "<code>F.scaled_dot_product_attention</code>",
        "mha": "<code>torch.nn.MultiheadAttention</code>, <code>attn_mask</code>",
        "key-padding": "<code>torch.nn.MultiheadAttention</code>, <code>key_padding_mask</code>: "
        "the padding alone",
        "float": "<code>attn_mask</code> of either, as float",
        "hugging-face": "Hugging Face, <code>attention_mask</code>: the padding alone",
        "flex": "FlexAttention, <code>mask_mod</code>",
    },
    "zh": {
        "label": "掩码试验台",
        "comma": "、",
        "space": "",
        "n": "查询数",
        "m": "键数",
        "causal": "因果",
        "causal-by": "因果掩码的对齐方式",
        "first": "首个对首个",
        "last": "末个对末个",
        "window": "滑动窗口",
        "window-by": "窗口宽度（键数）",
        "prefix": "全都可见的前缀",
        "prefix-by": "前缀长度（键数）",
        "padding": "末尾的填充",
        "padding-by": "填充长度（键数）",
        "caption": "行是查询，列是键。1：可以关注；0：不可以。",
        "corner": "查询",
        "summary": "{all} 对里有 {allowed} 对可以关注。各查询依次能看到的键数：{counts}。",
        "empty": "没有键可看的查询：{empty}。",
        "copy": "复制",
        "where": "传给",
        "how": "写法，以及它的含义",
        "attends": "<code>True</code> 可以关注",
        "blocks": "<code>True</code> <strong>禁止</strong>关注",
        "added": "0 可以关注，−∞ 禁止关注",
        "integers": "1 可以关注，0 是填充",
        "is-causal": "不用掩码，效果相同",
        "no-mask": "都可以关注：不需要掩码",
        "sdpa": "<code>F.scaled_dot_product_attention</code> 的 <code>attn_mask</code>；本站",
        "function": "<code>F.scaled_dot_product_attention</code>",
        "mha": "<code>torch.nn.MultiheadAttention</code> 的 <code>attn_mask</code>",
        "key-padding": "<code>torch.nn.MultiheadAttention</code> 的 <code>key_padding_mask</code>："
        "只管填充",
        "float": "两者的 <code>attn_mask</code>，用浮点数",
        "hugging-face": "Hugging Face 的 <code>attention_mask</code>：只管填充",
        "flex": "FlexAttention 的 <code>mask_mod</code>",
    },
}
# how the mask, and `keep`, which is True at real keys, are given to each
_GIVEN = (
    ("sdpa", "mask", "attends", "", ""),
    ("function", "is_causal=True", "is-causal", ' data-of="is-causal"', ""),
    ("function", "attn_mask=None", "no-mask", ' data-of="no-mask" hidden', ""),
    ("mha", "~mask", "blocks", "", ""),
    ("float", "torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)", "added", "", ""),
    ("key-padding", "~keep[None]", "blocks", " data-padding hidden", ""),
    ("hugging-face", "keep[None].long()", "integers", " data-padding hidden", ""),
    ("flex", "lambda b, h, q, k: (k <= q)", "attends", "", ' data-of="flex"'),
)


def explorer(language: str) -> str:
    """Return the form of the mask explorer with what it shows at first."""
    text = _EXPLORER[language]
    words = ("comma", "space", "summary", "empty")
    lengths = {str(length): str(length) for length in range(1, LARGEST + 1)}
    fields = [
        f"{form.label('mask', name, text[name])} "
        f"{form.select('mask', name, lengths, str(EXPLORED))}"
        for name in ("n", "m")
    ]
    ends = {end: text[end] for end in ("first", "last")}
    named = {name: f' aria-label="{text[name + "-by"]}"' for name in ("causal", *SIZES)}
    first = form.select("mask", "causal-by", ends, "first", named["causal"])
    fields.append(f"{form.tick('mask', 'causal', text['causal'], ticked=True)} {first}")
    for name, size in SIZES.items():
        second = form.select("mask", f"{name}-by", lengths, str(size), f"{named[name]} disabled")
        fields.append(f"{form.tick('mask', name, text[name], ticked=False)} {second}")
    mask = causal_mask(EXPLORED).int().tolist()
    keys = "".join(f'<th scope="col">{key}</th>' for key in range(EXPLORED))
    cells = ("<td>0</td>", '<td class="may">1</td>')
    rows = "".join(
        f'<tr><th scope="row">{query}</th>{"".join(cells[cell] for cell in row)}</tr>'
        for query, row in enumerate(mask)
    )
    counts = [sum(row) for row in mask]
    summary = text["summary"].format(
        allowed=sum(counts), all=EXPLORED**2, counts=text["comma"].join(map(str, counts))
    )
    code = f"import torch\nmask = torch.ones({EXPLORED}, {EXPLORED}, dtype=torch.bool).tril()"
    given = "".join(
        f'<tr{marks}><th scope="row">{text[where]}</th>'
        f"<td><code{marked}>{form.escape(how)}</code><br>{text[meaning]}</td></tr>\n"
        for where, how, meaning, marks, marked in _GIVEN
    )
    heads = "".join(f'<th scope="col">{text[name]}</th>' for name in ("where", "how"))
    lines = (
        form.start("mask-explorer", text["label"], {name: text[name] for name in words}),
        "<div>",
        *fields,
        "</div>",
        f'<div><p id="mask-caption">{text["caption"]}</p>',
        '<table class="mask" aria-labelledby="mask-caption">',
        f'<thead><tr data-of="keys"><th scope="col">{text["corner"]}</th>{keys}</tr></thead>',
        f'<tbody data-of="rows">{rows}</tbody></table></div>',
        f'<output data-of="summary" aria-live="polite">{summary}</output>',
        f'<p class="line"><code id="mask-code" data-of="code">{form.escape(code)}</code>',
        f'<button type="button" data-clipboard-target="#mask-code">{text["copy"]}</button></p>',
        f"<div><table><thead><tr>{heads}</tr></thead>",
        f'<tbody data-of="given">{given}</tbody></table></div>',
        "</form>",
    )
    return "\n".join(lines)


TABLES = {"cost": cost, "explorer": explorer}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    first = torch.softmax(torch.tensor([0.0, 1.0, 0.0]) / 3**0.5, dim=-1)[0]
    return {
        "float16_lowest": f"{torch.finfo(torch.float16).min:,.0f}".replace("-", "−"),
        "third": f"{1 / 3:.4f}",
        "unmasked": f"{first:.4f}",
    }
