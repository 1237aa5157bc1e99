"""The check of attention to another sequence: does each output see its own word and all keys?"""

from contextlib import suppress

from torch import Tensor

from attn_docs.testing.insight import mask_unfit
from attn_docs.testing.judgement import Judgement, failed, passed, skipped
from attn_docs.testing.module_insight import ModuleInsight
from attn_docs.testing.module_subject import ModuleSubject
from attn_docs.testing.patterns import sample_mask
from attn_docs.testing.subject import SubjectError, WrongShapeError, gradients, influence

FROM_X = "keys or values are made from x, not from the context"
OTHERS = [0, 2, 3]  # of four words, all but word 1


def cross_attention(insight: ModuleInsight) -> Judgement:
    """Output i depends on word i of `x` and on the context, of any length."""
    subject = insight.subject
    if not subject.adapter.takes_context:
        return skipped("the module takes no context")
    x, context = subject.words(1, 4).requires_grad_(), subject.contexts(1, 7)
    try:
        output = subject.call(x, None, context, causal=False)
    except WrongShapeError as error:
        return failed(
            f"4 queries and 7 keys gave shape {error.shape}", "queries are made from the context"
        )
    except SubjectError as error:
        return _raised(subject, error)
    (own,) = gradients(output[0, 1].sum(), [x])
    others = own[0, OTHERS].abs().max().item()
    if others > 1e-9 * own.abs().max().item():
        return failed(
            f"output 1 depends on other words of x: gradient {others:.2e}",
            insight.root_cause or FROM_X,
        )
    if cut := _cut(subject, x.detach(), context):
        return cut
    if not own[0, 1].abs().max() > 0:
        return failed("the output does not depend on x", "queries are not made from x")
    return _masked(insight, x.detach(), context) or passed(
        "4 queries, 7 keys: each output sees its own word and all keys"
    )


def _raised(subject: ModuleSubject, error: SubjectError) -> Judgement:
    """Judge a module that raises where queries and keys differ in number."""
    if refused := _refusal(subject, error):
        return skipped(f"the module refuses a context: {refused}")
    return failed(
        f"4 queries and 7 keys raised {error}",
        FROM_X if _sees_other_words(subject) else "the length of the queries is used for the keys",
    )


def _refusal(subject: ModuleSubject, error: SubjectError) -> str:
    """Return what a module says that takes no context however long; empty if it says nothing."""
    kind = type(error.__cause__)
    if issubclass(kind, (ValueError, TypeError, NotImplementedError)):  # no shape that fails
        try:
            subject.call(subject.words(1, 4), None, subject.contexts(1, 4), causal=False)
        except SubjectError as again:
            if isinstance(again.__cause__, kind):
                return again.reason
            raise
    return ""


def _sees_other_words(subject: ModuleSubject) -> bool:
    """Tell whether an output depends on other words of `x`, with a context of equal length."""
    x, context = subject.words(1, 4).requires_grad_(), subject.contexts(1, 4, seed=1)
    with suppress(SubjectError):
        output = subject.call(x, None, context, causal=False)
        (gradient,) = gradients(output[0, 1].sum(), [x])
        return bool(gradient[0, OTHERS].abs().max() > 1e-9 * gradient.abs().max())
    return False


def _cut(subject: ModuleSubject, x: Tensor, context: Tensor) -> Judgement | None:
    """Judge whether each output depends on each word of the context; None if so."""
    missing = (influence(subject, x, context=context, causal=False) <= 1e-12).nonzero()
    if not len(missing):
        return None
    i, j = missing[0].tolist()
    return failed(
        f"output {i} does not depend on word {j} of the context",
        "part of the context is cut off or masked",
    )


def _masked(insight: ModuleInsight, x: Tensor, context: Tensor) -> Judgement | None:
    """Judge whether a mask hides words of the context; None if so, or if no mask can be asked."""
    subject = insight.subject
    if subject.masks_keys_alone or mask_unfit(insight):
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
