# pip install transformers
from types import SimpleNamespace

from transformers.integrations.eager_paged import eager_paged_attention_forward
from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

from attn_docs.testing import check_attention

layer = SimpleNamespace(num_key_value_groups=1, layer_idx=0, training=False)
cache = SimpleNamespace(update=lambda key_states, value_states, **_: (key_states, value_states))


def called(forward, **always):
    def attend(query, key, value, attn_mask=None, scaling=0.25, **options):
        given = {"scaling": scaling, **options, **always}
        output, _ = forward(layer, query, key, value, attn_mask, **given)
        return output.transpose(1, 2)

    return attend

forwards = {
    "eager": called(eager_attention_forward),
    "paged|eager": called(eager_paged_attention_forward, cache=cache),
}
for name, attend in forwards.items():
    report = check_attention(attend, mask_true="added", knobs={"softcap": 2.0})
    print(name, report.verdict, [finding.cause for finding in report.failures])
#> eager passed []
#> paged|eager failed ['accepted and ignored: softcap=2.0']
