"""A model of Qwen3's shape so small that it trains in two minutes, and tells stories."""

from attn_docs.checkpoints.whole_model import decoder_from_config
from attn_docs.model.decoder import DecoderModel
from attn_docs.model.language_model import ALPHABET
from attn_docs.model.weights import load_weights

WINDOW = 16
# Each entry as in the config.json of a Qwen3, but for the sizes.
CONFIG = {
    "model_type": "qwen3",
    "vocab_size": len(ALPHABET),
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
    "attention_bias": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "max_position_embeddings": 256,
    "use_sliding_window": True,
    "sliding_window": WINDOW,
    "layer_types": ["sliding_attention", "full_attention"],
    "eos_token_id": ALPHABET.index("\n"),
}


def tiny_qwen3() -> DecoderModel:
    """Return the model with the weights that `python -m attn_docs.model tiny-qwen3` stored.

    Its tokens are the 29 characters of `attn_docs.model.language_model`, on whose stories it was
    trained: the first of its two layers sees 16 characters, the second all.

    Example:
        ```python
        from attn_docs.checkpoints.tiny_qwen3 import tiny_qwen3
        from attn_docs.model.language_model import continue_text

        print(continue_text(tiny_qwen3(), "the cat"), end="")
        #> ?
        ```
    """
    model = decoder_from_config(CONFIG)
    model.load_state_dict(load_weights("tiny-qwen3"))
    return model.eval()
