"""Attention at work on the home page: what a word of the sentence takes from the others."""

import json
import math

from torch import Tensor

from attn_docs import attention_weights
from attn_docs.sentence import FEATURES, KINDS, WORDS, embeddings, projections
from docs._kit.form import fill
from docs._kit.markdown import table
from docs._kit.text import Words, texts

SHARPNESS, SHARPEST = 6, 12  # at first, and at most
CHOSEN = WORDS.index("it")
ALIKE = 1e-9  # weights that differ by less are the same


def scores() -> Tensor:
    """Return how well each word's key fits each word's query, scaled, for a sharpness of 1."""
    x = embeddings().double()
    w_q, w_k, _ = (w.double() for w in projections())
    return (x @ w_q) @ (x @ w_k).mT / math.sqrt(w_q.size(-1))


def values() -> Tensor:
    """Return what each word means, as rows of `MEANINGS`."""
    return (embeddings() @ projections()[2]).double()


def weights(sharpness: float = SHARPNESS) -> Tensor:
    """Return how much each word attends to each, without a mask."""
    x = embeddings().double()
    w_q, w_k, _ = (w.double() for w in projections(sharpness))
    return attention_weights(x @ w_q, x @ w_k)


def arc(start: int, end: int, pitch: float = 100, height: float = 112) -> str:
    """Return the path from one word to another, over those between; to itself, a loop."""
    x, far = (pitch * (start + 0.5), pitch * (end + 0.5)), abs(end - start)
    top, out = (height * (3 - far) / 4, 0.0) if far else (height * 3 / 7, 0.6 * pitch)
    curve = f"{x[0] - out:g} {top:g} {x[1] + out:g} {top:g} {x[1]:g} {height:g}"
    return f"M{x[0]:g} {height:g}C{curve}"


def reason(word: int, text: Words) -> str:
    """Return what a word is, and which kinds of word its query looks for."""
    x, (w_q, _, _) = embeddings()[word], projections()
    (kind,) = (KINDS.index(FEATURES[j]) for j in x.nonzero().flatten() if FEATURES[j] in KINDS)
    sought = text["or"].join(text["kinds"][j] for j in (x @ w_q).nonzero().flatten())
    word_said = text["quoted"].format(word=WORDS[word])
    return str(text["reason"].format(word=word_said, kind=text["kinds"][kind], sought=sought))


def largest(numbers: Tensor, names: list[str]) -> tuple[str, list[str]]:
    """Return the largest of the numbers, and the names of all that are alike."""
    most = numbers.max()
    named = zip(names, numbers, strict=True)
    return f"{most:.2f}", [name for name, number in named if most - number < ALIKE]


def gains(brought: Tensor, text: Words) -> str:
    """Return what attention brings most of, with its number."""
    number, names = largest(brought, text["meanings"])
    told = (text["gain"].format(name=name, number=number) for name in names)
    return str(text["join"].join(told))


def sentence(word: int, found: Tensor, brought: Tensor, text: Words) -> str:
    """Return in words what a word attends to most, and what that brings it."""
    quoted = [text["quoted"].format(word=name) for name in WORDS]
    weight, words = largest(found, quoted)
    asks = text["each" if len(words) > 1 else "top"]
    asks = asks.format(words=text["join"].join(words), weight=weight)
    return reason(word, text) + asks + str(text["brought"].format(meanings=gains(brought, text)))


def explorer(language: str) -> str:
    """Return the picture of attention with what it shows at first, and its data."""
    text = texts(__file__, "attention", language)
    found = weights()[CHOSEN]
    output = found @ values()
    chosen = text["quoted"].format(word=WORDS[CHOSEN])
    data = {
        "scores": scores().tolist(),
        "values": values().int().tolist(),
        "words": WORDS,
        "meanings": text["meanings"],
        "reasons": [reason(word, text) for word in range(len(WORDS))],
    }
    return fill(
        __file__,
        **text,
        words=WORDS,
        chosen=CHOSEN,
        of_chosen=text["of_word"].format(word=chosen),
        to_chosen=text["to_word"].format(word=chosen),
        weights=found.tolist(),
        output=output.tolist(),
        arcs=[(arc(CHOSEN, j), 16 * weight) for j, weight in enumerate(found.tolist())],
        said=sentence(CHOSEN, found, output, text),
        sharpness_at_first=SHARPNESS,
        sharpness_most=SHARPEST,
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")),
    )


def attention(language: str) -> str:
    """Return the weights of every word, and what they bring it, for readers without JavaScript."""
    text, named = (texts(__file__, name, language) for name in ("attention", "attention_table"))
    rows = []
    for word, found in zip(WORDS, weights(), strict=True):
        shown = (f"{weight:.2f}" for weight in found.tolist())
        rows.append((f"**{word}**", *shown, gains(found @ values(), text)))
    header = (named["word"], *WORDS, named["brought"])
    return f"{table(header, rows)}\n\n{named['caption'].format(sharpness=SHARPNESS)}"


TABLES = {"explorer": explorer, "attention-table": attention}
