"""TODO: one sentence, what this mechanism is."""

from torch import Tensor


def from_hugging_face(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO: one sentence; then formula, shapes, errors, source.

    Example:
        ```python
        from attn_docs import from_hugging_face

        print(from_hugging_face.__name__)
        #> from_hugging_face
        ```
    """
    raise NotImplementedError
