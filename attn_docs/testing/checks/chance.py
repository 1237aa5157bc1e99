"""Checks of what is random: dropout, in training and in evaluation."""

import torch
from torch import Tensor

from attn_docs.testing.judgement import Judgement, failed, judge, passed, skipped, unknown
from attn_docs.testing.layers import matches
from attn_docs.testing.module_insight import UNREADABLE, ModuleInsight, Readable
from attn_docs.testing.module_subject import ModuleSubject
from attn_docs.testing.subject import seeded
from attn_docs.testing.trace import Attended

NOT_RESCALED = "the kept weights are not divided by 1 − p"
ON_SCORES = "dropout is applied to the scores, before the softmax; it belongs on the weights"
ELSEWHERE = "dropout is not on the weights after the softmax"


def dropout(insight: ModuleInsight) -> Judgement:
    """In training, weights are dropped and the rest grow to keep the mean."""
    subject = insight.subject.in_mode("training", quiet=False)
    x, outputs = subject.words(1, subject.length), []
    for seed in (0, 1):
        seeded(seed, subject.device)
        outputs.append(subject.call(x).detach())
    if matches(*outputs):
        return skipped("training is as deterministic as evaluation: no dropout")
    if insight.readable is not None:
        quiet, trained = _read(insight.readable, subject)
    elif made := _recorded(insight, subject):
        if _zeros(made[1]) > _zeros(made[0]):
            return failed("in training the scores that go into the softmax are dropped", ON_SCORES)
        quiet, trained = made[0].weights, torch.stack([each.weights for each in made[1:]])
    else:
        return unknown(UNREADABLE)
    if _whole_keys(quiet, trained):
        return failed(
            "a key is dropped for all queries or for none",
            "whole keys are dropped, one draw for all queries: it belongs on each weight",
        )
    slack = 10 * subject.tolerance
    allowed = quiet > (1e-6 if subject.dtype == torch.float64 else slack)
    return _judged((trained / quiet)[:, allowed].flatten(), trained.sum(-1), slack)


def _read(readable: Readable, subject: ModuleSubject) -> tuple[Tensor, Tensor]:
    """Return the weights (heads, n, n) without dropout, and (4, heads, n, n) with it."""
    trained = []
    for seed in range(4):
        seeded(seed, subject.device)
        recording = subject.record(readable.recording.x[None], causal=subject.always_causal)
        trained.append(readable.weights(recording))
    return readable.weights(readable.recording), torch.stack(trained)


def _recorded(insight: ModuleInsight, subject: ModuleSubject) -> list[Attended]:
    """Return the attention as it ran without dropout, and four times with it; none if not seen."""
    x = subject.words(1, subject.length)
    made: list[Attended] = []
    for seed in range(5):
        seeded(seed, subject.device)
        who = subject if seed else insight.subject
        made += who.record(x, causal=subject.always_causal).attended[:1]
    # what comes in may be dropped as well, as in a model
    same = len(made) == 5 and all(matches(made[0].product, each.product) for each in made)
    return made if same else []


def _zeros(made: Attended) -> int:
    """Count the scores that are zero."""
    return 0 if made.scores is None else int((made.scores == 0).sum())


def _whole_keys(quiet: Tensor, trained: Tensor) -> bool:
    """Tell whether all queries that see a key lose it together, and some key is lost."""
    seen = quiet.abs() > 1e-6
    dropped = (trained.abs() < 1e-9) & seen
    together = dropped.sum(-2) == seen.sum(-2) * dropped.any(-2)
    return bool(dropped.any() and together[:, seen.sum(-2) > 1].all())


def _judged(ratio: Tensor, sums: Tensor, slack: float) -> Judgement:
    """Judge by the ratio of weights to what they are without dropout, and by their sums."""
    dropped = ratio.abs() < slack
    if not dropped.any() and matches(ratio, torch.ones_like(ratio)):
        return skipped("dropout is after the output projection, none is on the weights")
    factor = ratio[~dropped].median().item()
    same = bool(((ratio[~dropped] - factor).abs() < 10 * slack).all())
    if dropped.any() and same:
        if factor > 1 + slack / 10:
            return passed(f"weights are dropped, those kept grow by {factor:.4g} = 1/(1 − p)")
        return failed(
            f"weights are dropped, those kept stay {factor:.4g} times what they were", NOT_RESCALED
        )
    if bool(((sums - 1).abs() < 10 * slack).all()):
        return failed(
            f"rows still sum to 1 in training, with weights changed by {ratio.min():.3g} to "
            f"{ratio.max():.3g} times",
            ON_SCORES,
        )
    return failed(
        f"weights in training are {ratio.min():.3g} to {ratio.max():.3g} times those of evaluation",
        ELSEWHERE,
    )


def dropout_off_in_eval(insight: ModuleInsight) -> Judgement:
    """Calls in evaluation give the same, whatever the seed."""
    chance = insight.subject.chance
    return judge(
        not chance.evaluation,
        chance.evaluation or "three seeds in evaluation give the same",
        "something random that is none of PyTorch's dropout functions runs in evaluation"
        if chance.noisy
        else "dropout is applied in evaluation: pass dropout_p only when self.training",
    )
