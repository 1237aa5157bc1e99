# pip install transformers
import json
import tempfile

from transformers import AutoTokenizer

from attn_docs.checkpoints.tiny_qwen3 import save_tiny_qwen3

folder = save_tiny_qwen3(tempfile.mkdtemp())
template = (
    "{% for message in messages %}{{ message.role }} says {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant says {% endif %}"
)  # a published chat model brings its own, here or in chat_template.jinja
told = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": template}
(folder / "tokenizer_config.json").write_text(json.dumps(told))

tokenizer = AutoTokenizer.from_pretrained(folder)
messages = [{"role": "user", "content": "who sleeps."}]
options = {"add_generation_prompt": True}
print(repr(tokenizer.apply_chat_template(messages, tokenize=False, **options)))
#> 'user says who sleeps.\nassistant says '
prompt = tokenizer.apply_chat_template(messages, return_dict=False, **options)
print(prompt[:6], len(prompt))  # what write() takes
#> [23, 21, 7, 20, 1, 21] 37
