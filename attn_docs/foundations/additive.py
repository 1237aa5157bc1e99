"""Additive attention: a small network scores each pair of query and key."""

import torch
from torch import Tensor, nn

from attn_docs._checks import check_last_size, check_size
from attn_docs.foundations.scoring_functions import ScoreAttention


class AdditiveAttention(ScoreAttention):
    r"""Attention whose score is a small network; queries and keys may differ in size.

    $$s(q, k) = u^\top \tanh(W_q q + W_k k)$$

    The call is `ScoreAttention`'s: query (batch, n, q), key (batch, m, k), value (batch, m, e).
    On the way it makes a tensor (batch, n, m, p).

    Args:
        query_dim: Size q of a query.
        key_dim: Size k of a key.
        hidden_dim: Size p of the hidden layer.
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.

    Attributes:
        q_proj: Linear layer from q to p, without bias.
        k_proj: Linear layer from k to p, without bias.
        score_proj: Linear layer from p to 1, without bias. Together p·(1 + q + k) parameters.

    Raises:
        TypeError: If a size is not an int, or `dropout` is not a number.
        ValueError: If one is out of range; in the call, if a query or key has another size.

    Example:
        ```python
        import torch

        from attn_docs import AdditiveAttention

        attend = AdditiveAttention(query_dim=4, key_dim=6, hidden_dim=8)
        query, key, value = torch.randn(2, 3, 4), torch.randn(2, 5, 6), torch.randn(2, 5, 7)
        print(tuple(attend(query, key, value).shape))
        #> (2, 3, 7)
        ```

    Reference:
        Bahdanau et al., "Neural Machine Translation by Jointly Learning to Align and Translate",
        appendix A.1.2, arXiv:1409.0473 (2014).
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        check_size("query_dim", query_dim)
        check_size("key_dim", key_dim)
        check_size("hidden_dim", hidden_dim)
        self.q_proj = nn.Linear(query_dim, hidden_dim, bias=False)
        self.k_proj = nn.Linear(key_dim, hidden_dim, bias=False)
        self.score_proj = nn.Linear(hidden_dim, 1, bias=False)

    def score(self, query: Tensor, key: Tensor) -> Tensor:
        """Return the network's answer for every pair, (batch, n, m)."""
        check_last_size("query", query, "query_dim", self.q_proj.in_features)
        check_last_size("key", key, "key_dim", self.k_proj.in_features)
        asked = self.q_proj(query).unsqueeze(2)  # b n 1 p
        offered = self.k_proj(key).unsqueeze(1)  # b 1 m p
        hidden = torch.tanh(asked + offered)  # b n m p
        scores: Tensor = self.score_proj(hidden)  # b n m 1
        return scores.squeeze(-1)  # b n m
