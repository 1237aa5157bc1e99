"""The check of attention to another sequence: does each output see its own token and all keys?"""

from contextlib import suppress

import torch
from torch import Tensor

from attn_docs.testing.insight import mask_unfit, refused
from attn_docs.testing.judgement import Judgement, failed, passed, skipped
from attn_docs.testing.module_insight import ModuleInsight
from attn_docs.testing.module_subject import ModuleSubject
from attn_docs.testing.patterns import sample_mask
from attn_docs.testing.subject import (
    SubjectError,
    WrongShapeError,
    declines_context,
    gradients,
    influence,
)

FROM_X = "keys or values are made from x, not from the context"
OTHERS = [0, 2, 3]  # of four tokens, all but token 1


def cross_attention(insight: ModuleInsight) -> Judgement:
    """Output i depends on token i of `x` and on the context, of any length."""
    subject = insight.subject
    if not subject.adapter.takes_context:
        return skipped("the module takes no context")
    if why := refused(subject, 4, 7):
        return skipped(why)
    x, context = subject.words(1, 4).requires_grad_(), subject.contexts(1, 7)
    try:
        output = subject.call(x, None, context, causal=False)
    except WrongShapeError as error:
        return failed(
            f"4 queries and 7 keys gave shape {error.shape}", "queries are made from the context"
        )
    except SubjectError as error:
        return _raised(subject, error)
    own = _own(output, x)
    others = max(own[OTHERS].max().item(), _with_equal_lengths(subject))
    if others > 1e-9 * own.max().item():
        return failed(
            f"output 1 depends on other tokens of x: gradient {others:.2e}",
            insight.root_cause or FROM_X,
        )
    if cut := _cut(subject, x.detach(), context):
        return cut
    if not own[1] > 0:
        return failed("the output does not depend on x", "queries are not made from x")
    return _masked(insight, x.detach(), context) or passed(
        "4 queries, 7 keys: each output sees its own token and all keys"
    )


def _raised(subject: ModuleSubject, error: SubjectError) -> Judgement:
    """Judge a module that raises where queries and keys differ in number."""
    if declines_context(error):
        with suppress(SubjectError):
            subject.call(subject.words(1, 4), None, subject.contexts(1, 4), causal=False)
            return failed(
                f"4 queries and 7 keys raised {error}", "it takes as many keys as queries"
            )
        return skipped(f"the module refuses a context: {error.reason}")
    from_x = _with_equal_lengths(subject) > 1e-9
    return failed(
        f"4 queries and 7 keys raised {error}",
        FROM_X if from_x else "the length of the queries is used for the keys",
    )


def _own(output: Tensor, x: Tensor) -> Tensor:
    """Return how strongly output 1 depends on each token of `x`."""
    # not their sum: behind a normalisation that is a constant
    direction = torch.linspace(0.5, 1.5, output.size(-1)).to(output)
    (gradient,) = gradients((output[0, 1] * direction).sum(), [x])
    return gradient[0].abs().amax(-1)


def _with_equal_lengths(subject: ModuleSubject) -> float:
    """Return how strongly an output depends on other tokens of `x`, with as long a context."""
    x, context = subject.words(1, 4).requires_grad_(), subject.contexts(1, 4, seed=1)
    with suppress(SubjectError):
        own = _own(subject.call(x, None, context, causal=False), x)
        return own[OTHERS].max().item()
    return 0.0


def _cut(subject: ModuleSubject, x: Tensor, context: Tensor) -> Judgement | None:
    """Judge whether each output depends on each token of the context; None if so."""
    seen = influence(subject, x, context=context, causal=False) > 1e-12
    if subject.always_causal and _hides_later(seen, subject.claims.window):
        return None  # a decoder whose triangle stays with a context
    missing = (~seen).nonzero()
    if not len(missing):
        return None
    i, j = missing[0].tolist()
    return failed(
        f"output {i} does not depend on token {j} of the context",
        "part of the context is cut off or masked",
    )


def _hides_later(seen: Tensor, window: int | None) -> bool:
    """Tell whether each query sees keys in a row, up to one of them, and a later query no less."""
    places = torch.arange(seen.size(1), device=seen.device)
    first = places.where(seen, places.max() + 1).amin(-1)
    last = places.where(seen, -1).amax(-1)
    row = (places >= first[:, None]) & (places <= last[:, None])
    onward = all(bool((end.diff() >= 0).all()) for end in (first, last))
    begins = window is not None or not first.any()
    return bool((last >= 0).all()) and torch.equal(seen, row) and onward and begins


def _masked(insight: ModuleInsight, x: Tensor, context: Tensor) -> Judgement | None:
    """Judge whether a mask hides tokens of the context; None if so, or if no mask can be asked."""
    subject = insight.subject
    if subject.masks_keys_alone or subject.always_causal or mask_unfit(insight):
        return None
    mask = sample_mask(7, subject.device)[:4]
    seen = influence(subject, x, mask, context, causal=False) > 1e-12
    wrong = (seen != mask).nonzero()
    if not len(wrong):
        return None
    i, j = wrong[0].tolist()
    return failed(
        f"with a mask, output {i} {'sees' if seen[i, j] else 'does not see'} key {j}",
        "the mask is not applied to the keys of the context",
    )
