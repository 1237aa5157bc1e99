# pip install transformers
from transformers import (
    Gemma3TextConfig,
    Gemma4TextConfig,
    GPTNeoXConfig,
    GptOssConfig,
    Qwen3Config,
)
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from attn_docs import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    ProportionalScaling,
    YaRNScaling,
    rotary_frequencies,
)

YARN = ("beta_fast", "beta_slow", "truncate", "attention_factor", "mscale", "mscale_all_dim")


def rule_of(rope, longest):  # the rope_parameters of one kind of layer; max_position_embeddings
    rope = rope or {}  # older files: null
    kind = rope.get("rope_type", rope.get("type", "default"))  # or type
    if kind == "default":
        return None
    if kind == "proportional":
        return ProportionalScaling(rope["partial_rotary_factor"], rope.get("factor", 1.0))
    factor = rope["factor"]  # missing or null: an error, and not silently no rule
    trained = rope.get("original_max_position_embeddings", longest)
    if kind == "linear":
        return LinearScaling(factor)
    if kind == "yarn":
        given = {name: rope[name] for name in YARN if rope.get(name) is not None}
        return YaRNScaling(factor, trained, **given)
    if kind == "llama3":
        return Llama3Scaling(factor, trained, rope["low_freq_factor"], rope["high_freq_factor"])
    if kind == "dynamic" and "alpha" not in rope:  # HunYuan's alpha is another rule
        return DynamicScaling(factor, longest)
    raise ValueError(f"no rule for rope_type {kind!r}")


def rotated(rope, head):  # how many dimensions of a head rotate
    whole = rope.get("rope_type", rope.get("type")) == "proportional"
    return head if whole else int(head * rope.get("partial_rotary_factor", 1.0))


yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
yarn["rope_theta"] = 1000000.0  # the model's own
quarter = {"rope_type": "linear", "factor": 2.0, "partial_rotary_factor": 0.25}
quarter["rope_theta"] = 10000.0
for config, head in (  # and the dimensions of a head
    (GptOssConfig(), 64),
    (Qwen3Config(max_position_embeddings=131072, rope_parameters=yarn), 128),
    (Gemma3TextConfig(rope_scaling={"rope_type": "linear", "factor": 8.0}), 256),
    (Gemma4TextConfig(), 512),
    (GPTNeoXConfig(rope_parameters=quarter), 96),
):
    rope, kind = config.rope_parameters, None
    if "full_attention" in rope:  # a dict for each kind of layer: here the global ones
        rope, kind = rope["full_attention"], "full_attention"
    rule = rule_of(rope, config.max_position_embeddings)
    ours, factor = rotary_frequencies(rotated(rope, head), rope["rope_theta"], rule)
    theirs, their_factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, layer_type=kind)
    same = ours.equal(theirs) and factor == their_factor
    print(f"{type(config).__name__:16} {type(rule).__name__:19} {kind}: {same}")
#> GptOssConfig     YaRNScaling         None: True
#> Qwen3Config      YaRNScaling         None: True
#> Gemma3TextConfig LinearScaling       full_attention: True
#> Gemma4TextConfig ProportionalScaling full_attention: True
#> GPTNeoXConfig    LinearScaling       None: True
