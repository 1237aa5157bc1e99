"""The form of the trained model, two layers against one, and the model with parts switched off."""

import statistics
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch

from attn_docs.model import DecoderModel, describe_weights
from attn_docs.model.induction import (
    CONTEXT,
    EXAMINED,
    SHORTEST,
    STEPS,
    SYMBOLS,
    Examples,
    encode,
    induction_score,
    induction_targets,
    load_model,
    previous_token_score,
    repeated_tokens,
)
from attn_docs.model.induction_circuits import composed, copy_circuit, head_off, match_circuit
from docs._kit.examples import example
from docs._kit.form import fill
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import EARLY, LATE, LAYERS, SEEDS, SEQUENCES, UNTIL

WORKED = ("zqvx-zqv", "the cat. the c", "plough")  # an unknown word, a known one, no repetition
LEAST = 0.05  # smaller weights are not drawn
LEAST_SHARE = 0.25  # smaller elements of a circuit, as shares of the largest, are not drawn
TOP = 3  # predictions that are shown
DISTANCE = 8  # places between query and key, where the match is shown
TWO_ENDS = "abcabdab"  # after the last token, two may follow


class Seen(NamedTuple):
    """What the trained model does with a text."""

    maps: list[list[list[float]]]
    """The weights of each layer, a row for each token: how much it attends to each."""
    likely: list[list[tuple[str, float]]]
    """After each token the likeliest symbols, with their probabilities."""


@cache
def model() -> DecoderModel:
    """Return the trained model."""
    return load_model()


@torch.no_grad()
def seen(text: str) -> Seen:
    """Return what the trained model attends to in a text, and what it predicts after each token.

    Figures and forms, also of other pages, take the learned map of a short text from here.
    """
    logits, weights = model()(encode(text), need_weights=True)
    best = logits[0].softmax(-1).topk(TOP)
    likely = [
        [(SYMBOLS[token], share) for token, share in zip(tokens, shares, strict=True)]
        for tokens, shares in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]
    return Seen([layer[0, 0].tolist() for layer in weights], likely)


def visible(symbol: str) -> str:
    """Return a symbol as it is shown: the space as a sign."""
    return "␣" if symbol == " " else symbol


def most(row: list[float], text: str) -> dict[str, str | int]:
    """Return where a row of weights looks most: place, symbol and weight."""
    place = row.index(max(row))
    return {"place": place + 1, "symbol": visible(text[place]), "weight": f"{row[place]:.2f}"}


def explorer(language: str) -> str:
    """Return the form of the trained model with what it shows at first."""
    text, shown = texts(__file__, "explorer", language), WORKED[0]
    found = seen(shown)
    first, second = (layer[-1] for layer in found.maps)
    tokens = [
        {
            "symbol": visible(symbol),
            "name": text["place"].format(symbol=visible(symbol), place=place),
            "first": first[place - 1],
            "second": second[place - 1],
        }
        for place, symbol in enumerate(shown, 1)
    ]
    said = (
        text["looks"].format(layer=layer, **most(row, shown))
        for layer, row in enumerate((first, second), 1)
    )
    return fill(
        __file__,
        **text,
        text=shown,
        tries=WORKED,
        tokens=tokens,
        said=" ".join(said),
        after=text["next"].format(symbol=visible(shown[-1]), place=len(shown)),
        top=[(visible(symbol), share) for symbol, share in found.likely[-1]],
    )


def compared(language: str) -> str:
    """Return what one and two layers learn, a row a model."""
    text, trained = texts(__file__, "compared", language), load(__file__)["trained"]

    def span(digits: int, layers: int, quantity: str, **of: int) -> str:
        found = [trained(quantity, layers=layers, seed=seed, **of) for seed in SEEDS]
        least, most = (f"{end:.{digits}f}" for end in (min(found), max(found)))
        return least if least == most else text["span"].format(least=least, most=most)

    def row(layers: int) -> tuple[str, ...]:
        return (
            text["names"][layers - 1],
            span(3, layers, "accuracy"),
            span(2, layers, "previous", layer=1),
            span(2, layers, "induction", layer=layers),
        )

    previous, induction = even()
    rows = [row(layers) for layers in LAYERS]
    rows.append((text["even"], "", f"{previous:.2f}", f"{induction:.2f}"))
    caption = text["caption"].format(sequences=SEQUENCES, steps=f"{STEPS:,}")
    return f"{table(text['header'], rows)}\n\n{trained.caption(caption, language)}"


def even() -> tuple[float, float]:
    """Return both scores of a head that gives each token up to the query the same weight."""
    tokens = examined().tokens[:, :-1]
    weights = torch.ones(len(tokens), CONTEXT, CONTEXT).tril()
    weights = weights / weights.sum(-1, keepdim=True)
    return previous_token_score(weights).item(), induction_score(weights, tokens).item()


def examined() -> Examples:
    """Return the sequences on which the trained model is examined."""
    return repeated_tokens(SEQUENCES, torch.Generator().manual_seed(EXAMINED))


class Broken(NamedTuple):
    """Accuracy on repetitions and induction score of layer 2 of a model with a part cut."""

    accuracy: float
    induction: float


@cache
def broken() -> dict[str, Broken]:
    """Return what is left of the model's behaviour when a part of it is cut, by its name."""
    examples = examined()
    tokens = examples.tokens[:, :-1]

    def found(**options: bool) -> Broken:
        logits, weights = composed(model(), tokens, **options)
        right = logits.argmax(-1) == examples.tokens[:, 1:]
        share = right[examples.repeated].double().mean()
        return Broken(share.item(), induction_score(weights, tokens).item())

    rows = {"whole": found()}
    for layer, name in enumerate(("first", "second")):
        with head_off(model(), layer):
            rows[name] = found()
    return rows | {part: found(**{part: False}) for part in ("key", "query", "value")}


def broken_table(language: str) -> str:
    """Return accuracy and induction score with a part of the model cut, a row a part."""
    text = texts(__file__, "broken", language)
    rows = (
        (text[name], f"{found.accuracy:.2f}", f"{found.induction:.2f}")
        for name, found in broken().items()
    )
    return table(text["header"], rows)


TABLES: dict[str, Callable[[str], str]] = {
    "explorer": explorer,
    "compared": compared,
    "broken": broken_table,
}


def too_many_places() -> tuple[float, float]:
    """Return accuracy and induction score on the mean over all places, which no copy can know."""
    examples = examined()
    tokens = examples.tokens[:, :-1]
    logits, weights = composed(model(), tokens)
    right = (logits.argmax(-1) == examples.tokens[:, 1:]).double()
    return right.mean().item(), (weights * induction_targets(tokens)).sum(-1).mean().item()


def of_matches() -> dict[str, str]:
    """Return accuracy where earlier matches agree and where not, as trained and with blind queries.

    Blind queries do not see what layer 1 wrote.
    """
    program = example("model/induction/disagree")
    found = {
        f"{name}_{place}": f"{share:.2f}"
        for name, shares in zip(("whole", "blind"), program["found"].values(), strict=True)
        for place, share in zip(("agreed", "torn"), shares, strict=True)
    }
    return found | {"torn": f"{100 * program['share']:.0f}%"}


def of_new_layers() -> dict[str, str]:
    """Return what short training reaches with keys of the token before, and without."""
    shifted = example("model/induction/shifted_keys")["reached"]
    return {
        "own_keys": f"{shifted['own keys']:.1f}",
        "shifted_keys": f"{shifted['shifted keys']:.1f}",
    }


@torch.no_grad()
def of_texts() -> dict[str, str]:
    """Return what the model makes of single texts."""
    unknown, ends = seen("plough"), seen(TWO_ENDS)
    logits = model()(encode(TWO_ENDS))[0, -1].softmax(-1)
    with head_off(model(), 0):
        alone = seen(WORKED[0])
    return {
        "even": f"{even()[1]:.2f}",
        "unknown": f"{unknown.likely[-1][0][1]:.2f}",
        "alone": f"{alone.likely[-1][0][1]:.2f}",
        "scattered": f"{alone.maps[1][-1][0]:.2f}",
        "nearer": f"{logits[SYMBOLS.index('d')].item():.2f}",
        "further": f"{ends.likely[-1][0][1]:.2f}",
        "distance": str(DISTANCE),
    }


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    trained, curve = (load(__file__)[name] for name in ("trained", "curve"))
    told, wrong = describe_weights("induction"), too_many_places()
    ends = {
        layers: [trained("accuracy", layers=layers, seed=seed) for seed in SEEDS]
        for layers in LAYERS
    }
    seconds = [trained("CPU time", layers=2, seed=seed) for seed in SEEDS]
    scores = [trained("induction", layers=2, layer=2, seed=seed) for seed in SEEDS]
    cut = broken()
    word = seen(WORKED[0])
    at = {step: curve("accuracy", layers=2, seed=0, step=step) for step in (EARLY, LATE)}
    peak = max(v["value"] for v in curve.values if v["quantity"] == "induction" and not v["seed"])
    return {
        "parameters": f"{sum(p.numel() for p in model().parameters()):,}",
        "seconds": f"{round(statistics.mean(seconds))}",
        "steps": f"{told['steps']:,}",
        "shortest": str(SHORTEST),
        "longest": str(CONTEXT // 2),
        "chance": f"{1 / len(SYMBOLS):.3f}",
        "two": f"{min(ends[2]):.2f}",
        "one": f"{max(ends[1]):.2f}",
        "until": str(UNTIL),
        "early_step": str(EARLY),
        "late_step": str(LATE),
        "blank": str(LEAST_SHARE),
        "blank_weight": str(LEAST),
        "early": f"{at[EARLY]:.2f}",
        "late": f"{at[LATE]:.2f}",
        "peak": f"{peak:.2f}",
        "end": f"{scores[0]:.2f}",
        "previous": f"{trained('previous', layers=2, layer=1, seed=0):.2f}",
        "everywhere": f"{wrong[0]:.2f}",
        "score_everywhere": f"{wrong[1]:.2f}",
        "matched": str(own(match_circuit(model(), DISTANCE))),
        "copied": str(own(copy_circuit(model()))),
        "word": f"{word.likely[-1][0][1]:.2f}",
        **of_new_layers(),
        **of_matches(),
        **of_texts(),
        **{f"without_{name}": f"{found.accuracy:.2f}" for name, found in cut.items()},
        **{f"score_{name}": f"{found.induction:.2f}" for name, found in cut.items()},
    }


def own(circuit: torch.Tensor) -> int:
    """Count the rows of a circuit whose largest element is the token's own."""
    return int((circuit.argmax(-1) == torch.arange(len(circuit))).sum())
