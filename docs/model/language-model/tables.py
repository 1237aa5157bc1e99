"""What the language model learned, by how much, and what bugs do to it, in tables and numbers."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import torch
import torch.nn.functional as F

from attn_docs.model.induction_circuits import head_off
from attn_docs.model.language_model import (
    ALPHABET,
    BATCH,
    DREAMS,
    HELD_OUT,
    NAMES,
    NUM_HEADS,
    STEPS,
    NGram,
    encode,
    least_nats,
    looks_at,
    nats_by_kind,
    tell_stories,
    text_of,
    trained_model,
    word_map,
)
from attn_docs.model.weights import describe_weights
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts
from docs._tools.bugs import load as load_bugs

from .benchmark import LEAST
from .benchmark import STEPS as BUG_STEPS

COUNTED, JUDGED = 5000, 100  # stories that n-grams count, and held-out stories
ORDERS = (1, 2, 3)
SHOWN = ((2, "dream"), (1, "owner"))  # head of block 2, and before which part
ASKED = ("sleeper", "dream", "owner", "colour again", "animal again")
KINDS = ("", "name", "colour", "animal", "sleeper", "sleeps", "place", "dream", "owner", "meets",
         "colour again", "animal again")  # fmt: skip
MOMENTS = (25, 75, 150, STEPS)


@cache
def held_out() -> list[Any]:
    """Return the stories that models are judged by, drawn with a seed of their own."""
    return tell_stories(JUDGED, HELD_OUT)


@cache
def judged() -> dict[str, dict[str, float]]:
    """Return the nats of a story by kind of part: of the n-grams, the model, and the floor."""
    seen = tell_stories(COUNTED, 0)
    found = {str(order): nats_by_kind(NGram(order, seen), held_out()) for order in ORDERS}
    found["model"] = nats_by_kind(trained_model(), held_out())
    floor = dict.fromkeys(KINDS, 0.0)
    for part in held_out()[0]:
        floor[part.kind] += torch.tensor(float(part.options)).log().item()
    return found | {"floor": floor}


@cache
def removed() -> list[dict[str, float]]:
    """Return the nats of a story by kind without a head of block 2, for each of its heads."""
    model, found = trained_model(), []
    for head in range(NUM_HEADS):
        with head_off(model, 1, head):
            found.append(nats_by_kind(model, held_out()))
    return found


@cache
def looked(asks: str, at: str) -> torch.Tensor:
    """Return each head's mean weight from one kind of part at another: (blocks, heads)."""
    return looks_at(trained_model(), held_out(), asks, at)


def characters() -> float:
    """Return the mean number of characters of the held-out stories."""
    return sum(len(text_of(parts)) for parts in held_out()) / JUDGED


def parts(language: str) -> str:
    """Return what each kind of part costs the trigram, the model, and at the least."""
    text = texts(__file__, "parts", language)
    rows = (
        (text["kinds"][at], *(f"{judged()[name][kind]:.2f}" for name in ("3", "model", "floor")))
        for at, kind in enumerate(KINDS)
    )
    caption = text["caption"].format(names=len(NAMES), fewer=len(NAMES) - 1)
    return f"{table(text['header'], rows)}\n\n{caption}"


def curve() -> list[dict[str, Any]]:
    """Return what was seen in training: the step, the nats by kind, and a text."""
    return cast("list[dict[str, Any]]", describe_weights("language-model")["curve"])


def samples(language: str) -> str:
    """Return what the model wrote at some moments of its training."""
    text = texts(__file__, "samples", language)
    rows = (
        (str(at["step"]), f"{sum(at['nats'].values()):.0f}", f"`{at['text'].strip()}`")
        for at in curve()
        if at["step"] in MOMENTS
    )
    return f"{table(text['header'], rows, words=(0, 2))}\n\n{text['caption']}"


@cache
def word_maps() -> list[torch.Tensor]:
    """Return the heads' maps of words on the first held-out story, (heads, words, 1 + words)."""
    story = text_of(held_out()[0])
    with torch.no_grad():
        _, weights = trained_model()(encode("\n" + story[:-1])[None], need_weights=True)
    return [torch.stack([word_map(head, story) for head in block[0]]) for block in weights]


def row_of(kind: str) -> int:
    """Return which word of the first held-out story a kind of part is."""
    before = ""
    for part in held_out()[0]:
        if part.kind == kind:
            return before.count(" ")
        before += part.text
    raise ValueError(f"kind must be of a part; got {kind!r}")


def heads(language: str) -> str:
    """Return for each head the word that it looks at most before some words of a story."""
    text = texts(__file__, "heads", language)
    words = ["⏎", *text_of(held_out()[0]).split()]
    asked = [row_of(kind) for kind in ASKED]
    header = [text["head"], *(text["before"].format(word=words[row + 1]) for row in asked)]
    rows = [
        (
            text["name"].format(block=block + 1, head=head + 1),
            *(_most(weights[row], words) for row in asked),
        )
        for block, maps in enumerate(word_maps())
        for head, weights in enumerate(maps)
    ]
    caption = text["caption"].format(story=text_of(held_out()[0]).strip())
    return f"{table(header, rows, words=range(len(header)))}\n\n{caption}"


def _most(weights: torch.Tensor, words: list[str]) -> str:
    weight, at = weights.max(0)
    return f"{words[int(at)]} {weight:.2f}"


def bugs(language: str) -> str:
    """Return what the right layer and five bugs end at, and what they write."""
    text, measured = texts(__file__, "bugs", language), load(__file__)["bugs"]
    names = list(dict.fromkeys(value["layer"] for value in measured.values))
    wrote = {v["layer"]: v["text"] for v in measured.values if "text" in v}
    rows = (
        (
            text[name],
            f"{measured('loss', layer=name):.1f}",
            f"{measured('loss step by step', layer=name):.1f}",
            f"`{wrote[name].strip()}`",
        )
        for name in names
    )
    caption = measured.caption(text["caption"], language)
    return f"{table(text['header'], rows, words=(0, 3))}\n\n{caption}"


def bug_row(name: str, row: int) -> list[float]:
    """Return a row of the map that a layer's second block was stored with."""
    weights = [0.0] * (1 + len(text_of(held_out()[0]).split()))
    for value in load(__file__)["bugs"].values:
        if (value["layer"], value["quantity"], value.get("row")) == (name, "weight", row):
            weights[value["column"]] = value["value"]
    return weights


TABLES: dict[str, Callable[[str], str]] = {
    "parts": parts,
    "samples": samples,
    "heads": heads,
    "bugs": bugs,
}


@cache
def right_name() -> float:
    """Return how much the head that looks at names looks at the owner's, before the owner."""
    owners = [next(p.text for p in parts if p.kind == "owner") for parts in held_out()]
    marked = [
        [p._replace(kind="right") if (p.kind, p.text) == ("name", owner) else p for p in parts]
        for parts, owner in zip(held_out(), owners, strict=True)
    ]
    return looks_at(trained_model(), marked, "owner", "right")[1, 1].item()


@cache
@torch.no_grad()
def dreamer_blind() -> float:
    """Return the weight at the sleeper before the dream, of keys without block 1's attention.

    Only head 3 of block 2 is changed: its keys read the stream in which all that block 1's
    attention adds is replaced by its mean over places and stories.
    """
    model = trained_model()
    first, second = cast("list[Any]", list(model.blocks))
    told = [model_input[None] for model_input in (encode("\n" + text_of(p)) for p in held_out())]
    added: list[torch.Tensor] = []
    hook = first.attention.register_forward_hook(lambda _, __, out: added.append(out[0]))
    for tokens in told:
        model(tokens)
    hook.remove()
    mean, stream = torch.cat(added).mean(0), {}

    def blind(_: object, __: object, embedded: torch.Tensor) -> None:
        attended = embedded + mean
        stream["in"] = attended + first.mlp(first.mlp_norm(attended))

    def replace(layer: torch.nn.Linear, _: object, out: torch.Tensor) -> torch.Tensor:
        unseen = F.linear(second.attention_norm(stream["in"]), layer.weight, layer.bias)
        size = out.shape[-1] // NUM_HEADS
        return torch.cat([out[..., : 2 * size], unseen[..., 2 * size : 3 * size],
                          out[..., 3 * size :]], dim=-1)  # fmt: skip

    hooks = (
        model.token_embedding.register_forward_hook(blind),
        second.attention.k_proj.register_forward_hook(replace),
    )
    found = looks_at(model, held_out(), "dream", "sleeper")[1, 2].item()
    for one in hooks:
        one.remove()
    return found


def head_numbers() -> dict[str, str]:
    """Return what the sentences on heads say."""
    second = removed()
    dreams = sum(len(words) for words in DREAMS.values())
    flipped = example("model/language_model/exchange")
    turned = flipped["flipped"].flatten().tolist()
    return {
        "dream_guess": f"{math.log(dreams):.2f}",
        "dreams": str(dreams),
        "others_dream_least": f"{min(nats['dream'] for nats in second):.1f}",
        "others_dream_most": f"{sorted(nats['dream'] for nats in second)[-2]:.1f}",
        "exchanged": str(max(turned)),
        "exchange_stories": str(flipped["stories"]),
        "dreamer": f"{looked('dream', 'sleeper')[1, 2]:.2f}",
        "dreamer_blind": f"{dreamer_blind():.2f}",
        "constant_without": f"{max(nats[''] for nats in second):.2f}",
        "dream_without": f"{second[2]['dream']:.1f}",
        "right_name": f"{right_name():.2f}",
        "wrong_name": f"{looked('owner', 'name')[1, 1] - right_name():.2f}",
    }


def passed() -> int:
    """Return the first step, of those watched, at which the model was better than the trigram."""
    trigram = sum(judged()["3"].values())
    return next(int(at["step"]) for at in curve() if sum(at["nats"].values()) < trigram)


def met_before() -> int:
    """Return how many of the held-out stories happen to be among those trained on."""
    trained_on = {text_of(parts) for parts in tell_stories(STEPS * BATCH, 0)}
    return sum(text_of(parts) in trained_on for parts in held_out())


def seed_numbers() -> dict[str, str]:
    """Return what three seeds ended at."""
    measured = load(__file__)["seeds"]
    loss, head = (
        sorted(v["value"] for v in measured.values if v["quantity"] == quantity)
        for quantity in ("loss", "dreamer")
    )
    return {
        "seeds_head_least": f"{head[0]:.2f}",
        "seeds_head_middle": f"{head[1]:.2f}",
        "seeds_loss_least": f"{loss[0]:.2f}",
        "seeds_loss_most": f"{loss[-1]:.2f}",
    }


def owner_numbers() -> dict[str, str]:
    """Return in how many stories the owner was asked for, and in how many the model was right."""
    found = example("model/language_model/exercise_owner")
    return {"owner_asked": f"{found['asked']:,}", "owner_right": f"{found['right']:,}"}


def bug_numbers() -> dict[str, str]:
    """Return what layers with bugs give the sleeper, and words that are still to come."""
    dream, sleeper = row_of("dream"), 1 + row_of("sleeper")
    rows = {
        name: bug_row(name, dream)
        for name in ("right", "causal_off_by_one", "causal_only_in_training")
    }
    return {
        "bug_right": f"{rows['right'][sleeper]:.2f}",
        "bug_peeks": f"{rows['causal_off_by_one'][dream + 1]:.2f}",
        "bug_later": f"{sum(rows['causal_only_in_training'][dream + 1 :]):.2f}",
    }


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    totals = {name: sum(nats.values()) for name, nats in judged().items()}
    told = describe_weights("language-model")
    model = trained_model()
    return {
        "alphabet": str(len(ALPHABET)),
        "animals": f"{judged()['model']['animal']:.2f}",
        "animals_floor": f"{judged()['floor']['animal']:.2f}",
        "batch": str(BATCH),
        "bug_count": str(len(load_bugs()[1])),
        "bug_steps": str(BUG_STEPS),
        "colour_again": f"{judged()['model']['colour again']:.2f}",
        "constant": f"{judged()['model']['']:.2f}",
        "cpu_seconds": f"{told['cpu_seconds']:.0f}",
        "dream": f"{judged()['model']['dream']:.2f}",
        "dream_floor": f"{judged()['floor']['dream']:.2f}",
        "dream_trigram": f"{judged()['3']['dream']:.1f}",
        "excess": f"{totals['model'] - totals['floor']:.1f}",
        "floor": f"{least_nats():.1f}",
        "judged": str(JUDGED),
        "least_shown": str(LEAST),
        "length": f"{characters():.0f}",
        "met_before": str(met_before()),
        "owner": f"{judged()['model']['owner']:.2f}",
        "passed": str(passed()),
        "perplexity": f"{math.exp(totals['model'] / characters()):.2f}",
        "parameters": f"{sum(p.numel() for p in model.parameters()):,}",
        "steps": f"{STEPS:,}",
        "stories": f"{round(torch.tensor(least_nats(), dtype=torch.float64).exp().item()):,}",
        "trained_on": f"{STEPS * BATCH:,}",
        "two": f"{torch.tensor(2.0).log():.2f}",
        **bug_numbers(),
        **head_numbers(),
        **owner_numbers(),
        **seed_numbers(),
    }
