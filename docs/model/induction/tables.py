"""The form of the trained model, two layers against one, and the model with parts switched off."""

import statistics
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

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

from .benchmark import EARLY, LATE, LAYERS, LONG_AGO, SEEDS, SEQUENCES, UNTIL

WORKED = ("zqvx-zqv", "the cat. the c", "plough")  # an unknown word, a known one, no repetition
LEAST = 0.05  # smaller weights are not drawn
LEAST_SHARE = 0.25  # smaller elements of a circuit, as shares of the largest, are not drawn
TOP = 3  # predictions that are shown
DISTANCE = 8  # places between query and key, where the match is shown
FAR, FAR_SEGMENT = 120, 12  # a text longer than any in training, and what it repeats
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


def torn(examples: Examples) -> Tensor:
    """Return where earlier occurrences of a repeated token were followed by different tokens."""
    tokens, answers = examples.tokens[:, :-1], examples.tokens[:, 1:]
    other = tokens[:, None] != answers[..., None]
    return examples.repeated & (induction_targets(tokens) & other).any(-1)


def of_rules() -> dict[str, str]:
    """Return what simple rules reach, and the model where matches agree and where they do not."""
    examples = examined()
    tokens = examples.tokens[:, :-1]
    where = {"torn": torn(examples)}
    where["agreed"] = examples.repeated & ~where["torn"]
    names = ("seen", "oldest", "lookup")
    hits = example("model/induction/rules")["right"].values()
    found = {name: f"{statistics.mean(of):.2f}" for name, of in zip(names, hits, strict=True)}
    for name, query in (("whole", True), ("blind", False)):
        right = composed(model(), tokens, query=query)[0].argmax(-1) == examples.tokens[:, 1:]
        for place, mask in where.items():
            found[f"{name}_{place}"] = f"{right[mask].double().mean().item():.2f}"
    share = where["torn"].sum().item() / examples.repeated.sum().item()
    return found | {"torn": f"{100 * share:.0f}%"} | blind_choice(where["torn"], examples)


def blind_choice(where: Tensor, examples: Examples) -> dict[str, str]:
    """Return what blind queries give the oldest and the newest match, and how often each is right.

    Blind queries do not see what layer 1 wrote.
    """
    tokens, answers = examples.tokens[:, :-1], examples.tokens[:, 1:]
    weights = composed(model(), tokens, query=False)[1][where]  # places n
    matches = induction_targets(tokens)[where].int()  # places n
    oldest, newest = matches.argmax(-1), matches.size(-1) - 1 - matches.flip(-1).argmax(-1)
    read = tokens[:, None].expand(-1, tokens.size(1), -1)[where]  # places n
    found = {}
    for name, at in (("oldest", oldest), ("newest", newest)):
        given, right = weights.gather(-1, at[:, None]), read.gather(-1, at[:, None])[:, 0]
        found[f"blind_{name}"] = f"{given.double().mean().item():.2f}"
        found[f"{name}_right"] = f"{(right == answers[where]).double().mean().item():.2f}"
    return found


def of_new_layers() -> dict[str, str]:
    """Return what short training reaches, keys of the token before, and longer texts."""
    shifted = example("model/induction/shifted_keys")["reached"]
    trained = example("model/induction/your_layer")["found"]
    generator = torch.Generator().manual_seed(EXAMINED)
    segment = torch.randint(len(SYMBOLS), (SEQUENCES, FAR_SEGMENT), generator=generator)
    tokens = segment.repeat(1, FAR // FAR_SEGMENT + 1)[:, : FAR + 1]
    with torch.no_grad():
        right = (model()(tokens[:, :-1]).argmax(-1) == tokens[:, 1:]).double()
    return {
        "after_300": f"{trained['right'][0]:.1f}",
        "new_after_300": f"{trained['right'][1]:.2f}",
        "by_d": f"{trained['1/d'][0]:.1f}",
        **of_the_first_copy(),
        "own_keys": f"{shifted['own keys']:.1f}",
        "shifted_keys": f"{shifted['shifted keys']:.1f}",
        "near_accuracy": f"{right[:, FAR_SEGMENT:CONTEXT].mean().item():.2f}",
        "far_accuracy": f"{right[:, 80:].mean().item():.2f}",
    }


@torch.no_grad()
def of_the_first_copy() -> dict[str, str]:
    """Return how often the model is right in the first copy, and at its last place alone."""
    tokens, repeated = repeated_tokens(4096, torch.Generator().manual_seed(EXAMINED))
    right = (model()(tokens[:, :-1]).argmax(-1) == tokens[:, 1:]).double()  # b n
    last = ~repeated[:, :-1] & repeated[:, 1:]  # the next token is the segment's first again
    shares = {"first_copy": right[~repeated], "begins_again": right[:, :-1][last]}
    return {name: f"{share.mean().item():.2f}" for name, share in shares.items()}


def of_one_layer() -> dict[str, str]:
    """Return where a single layer looks and what it predicts from there."""
    single = load(__file__)["single"]
    names = {
        "long_ago": "long ago",
        "most_weight": "most weight",
        "answer_there": "answer in band",
    }
    return {
        "long_from": str(LONG_AGO[0]),
        "long_to": str(LONG_AGO[-1]),
        **{name: f"{single(quantity, seed=0):.2f}" for name, quantity in names.items()},
    }


@torch.no_grad()
def not_yet_seen() -> str:
    """Return how often the model without layer 2 predicts a token that has not occurred."""
    examples = examined()
    tokens = examples.tokens[:, :-1]  # b n
    with head_off(model(), 1):
        guesses = model()(tokens).argmax(-1)  # b n
    met = (guesses[:, :, None] == tokens[:, None, :]).tril().any(-1)  # b n
    return f"{100 * (~met)[examples.repeated].double().mean().item():.0f}%"


@torch.no_grad()
def sureness() -> dict[str, str]:
    """Return the mean largest probability on repetitions, whole and without layer 1."""
    examples = examined()

    def sure() -> str:
        best = model()(examples.tokens[:, :-1]).softmax(-1).amax(-1)
        return f"{best[examples.repeated].double().mean().item():.2f}"

    whole = sure()
    with head_off(model(), 0):
        return {"sure": whole, "sure_alone": sure()}


@torch.no_grad()
def of_texts() -> dict[str, str]:
    """Return what the model makes of single texts, and where layer 1 looks besides one back."""
    unknown, ends = seen("plough"), seen(TWO_ENDS)
    logits = model()(encode(TWO_ENDS))[0, -1].softmax(-1)
    with head_off(model(), 0):
        alone = seen(WORKED[0])
    first = model()(examined().tokens[:, :-1], need_weights=True)[1][0][:, 0]
    far = [own(match_circuit(model(), distance)) for distance in range(1, CONTEXT)]
    return {
        **sureness(),
        "even": f"{even()[1]:.2f}",
        "unknown": f"{unknown.likely[-1][0][1]:.2f}",
        "alone": f"{alone.likely[-1][0][1]:.2f}",
        "nearer": f"{logits[SYMBOLS.index('d')].item():.2f}",
        "further": f"{ends.likely[-1][0][1]:.2f}",
        "two_back": f"{first.diagonal(-2, -2, -1).mean().item():.2f}",
        "distance": str(DISTANCE),
        "matched_to": str(far.index(min(far))),
        "matched_least": str(min(far)),
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
        "not_yet_seen": not_yet_seen(),
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
        **of_one_layer(),
        **of_new_layers(),
        **of_rules(),
        **of_texts(),
        **{f"without_{name}": f"{found.accuracy:.2f}" for name, found in cut.items()},
        **{f"score_{name}": f"{found.induction:.2f}" for name, found in cut.items()},
    }


def own(circuit: torch.Tensor) -> int:
    """Count the rows of a circuit whose largest element is the token's own."""
    return int((circuit.argmax(-1) == torch.arange(len(circuit))).sum())
