"""TODO: one sentence, what this mechanism is."""

from torch import Tensor


def models(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO: one sentence; then formula, shapes, errors, source.

    Example:
        ```python
        from attn_docs import models

        print(models.__name__)
        #> models
        ```
    """
    raise NotImplementedError
