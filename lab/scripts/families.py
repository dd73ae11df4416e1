"""Tiny random checkpoints of the decoder's families with golden values: `transformers` in float64 (golden.py).

    python families.py test/fixtures [NAME ...]

Made with torch 2.13.0, transformers 5.19.0 and tokenizers 0.23.3. Every trait has a visible effect: windows are shorter
than the texts, soft caps lie within the range of scores and logits, weights of norms are not all one.
"""

import json
import shutil
import sys
from pathlib import Path

import golden
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, CONFIG_MAPPING

CONTINUED = 16
SHARED = dict(
    vocab_size=640, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=512, rms_norm_eps=1e-6, tie_word_embeddings=True,
)  # fmt: skip
PLAIN = dict(bos_token_id=637, eos_token_id=639, pad_token_id=None)
GEMMA = dict(head_dim=16, bos_token_id=2, eos_token_id=1, pad_token_id=0, sliding_window=20)

FAMILIES = {
    "tiny-qwen3": ("qwen3", "bytes", torch.bfloat16, dict(
        PLAIN, head_dim=16, max_position_embeddings=256, rope_parameters=dict(
            rope_type="yarn", rope_theta=1e6, factor=4.0, original_max_position_embeddings=64))),
    "tiny-gemma2": ("gemma2", "gemma", torch.float32, dict(
        GEMMA, attn_logit_softcapping=1.5, final_logit_softcapping=6.0, query_pre_attn_scalar=24)),
    "tiny-gemma3": ("gemma3_text", "gemma", torch.bfloat16, dict(
        GEMMA, query_pre_attn_scalar=12, final_logit_softcapping=None,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        rope_parameters=dict(
            full_attention=dict(rope_type="linear", rope_theta=1e6, factor=8.0),
            sliding_attention=dict(rope_type="default", rope_theta=1e4)))),
    "tiny-phi3": ("phi3", "phi3", torch.float16, dict(
        hidden_size=64, num_hidden_layers=2, bos_token_id=1, eos_token_id=[2, 638], pad_token_id=0, sliding_window=30,
        original_max_position_embeddings=256, rope_parameters=dict(
            rope_type="longrope", rope_theta=1e4, partial_rotary_factor=0.75, original_max_position_embeddings=256,
            short_factor=[1.0, 1.1, 1.2, 1.4, 1.7, 2.1], long_factor=[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]))),
    "tiny-smollm3": ("smollm3", "bytes", torch.bfloat16, dict(PLAIN, no_rope_layers=[1, 0, 1], attention_bias=True)),
    "tiny-olmo2": ("olmo2", "bytes", torch.bfloat16, dict(PLAIN, tie_word_embeddings=False)),
}  # fmt: skip

TEXTS = [
    ([{"role": "user", "content": "What is 12 + 30 - 5?"}], "12 + 30 = 42.\nThen 42 - 5 = 37."),
    (
        [
            {"role": "user", "content": "Who sells stones, Maya or Zoë?"},
            {"role": "assistant", "content": "Maya does."},
            {"role": "user", "content": "How many?"},
        ],
        "She sells 3  stones — «très» 好 😀.",
    ),
]
SCHEDULES = ["block=1,window=32", "block=4,window=16", "block=8,window=all", "block=16,window=32"]
SPELT = [
    "", " ", "  a", "a  ", "a\n\nb", "\n \n", "\t x\u00a0y", "it's IT'S we'll", "3.14159 1000000", "naïve Å A\u030a ﬁ",
    "日本語 한국어 العربية", "👩‍👩‍👧 \U0001f1eb\U0001f1f7", "<bos> <|end|>x <|user|>  y", "▁ a ▁▁b", "def f(x):\n    return x**2\n",
]  # fmt: skip

CHATS = {
    "bytes": """{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}\
{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}\
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}""",
    "gemma": """{{ bos_token }}{% for message in messages %}{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}\
{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}\
{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}""",
    "phi3": """{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '<|end|>\\n' }}{% endfor %}\
{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}""",
}


def special(content, **options):
    return dict(content=content, special=True, normalized=False, lstrip=False, rstrip=False, single_word=False) | options


def sentence_piece(style):
    """BPE with byte fallback as SentencePiece makes it, of 640 tokens: first special tokens, then bytes, pieces, tags."""
    if style == "gemma":
        first, tags = ["<pad>", "<eos>", "<bos>", "<unk>"], ["<start_of_turn>", "<end_of_turn>"]
        added = [special(name) for name in first + tags]
        added += [special(name, special=False) for name in ("\n\n", "▁▁")]
        normalizer = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
        splitter = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
        tail, bos = [], "<bos>"
    else:
        first, tags = ["<unk>", "<s>", "</s>"], ["<|system|>", "<|user|>", "<|end|>", "<|assistant|>"]
        added = [special(name) for name in first] + [special(name, rstrip=True) for name in tags]
        normalizer = {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}  # fmt: skip
        splitter, tail, bos = None, [{"type": "Strip", "content": " ", "start": 1, "stop": 0}], "<s>"
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    given = first + [f"<0x{byte:02X}>" for byte in range(256)]
    extra = ["\n\n", "▁▁"] if style == "gemma" else []
    room = 640 - len(given) - len(tags) - len(extra)
    source = (Path(__file__).parent / "golden-texts.json").read_text(encoding="utf-8").replace("\\n", "\n")
    trainer = trainers.BpeTrainer(vocab_size=room, show_progress=False)
    trained.train_from_iterator(source.split("\n"), trainer)
    model = json.loads(trained.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    merges = model["merges"] + [["▁", "▁"] for token in extra if token == "▁▁"]
    spelt = given + pieces + [f"<unused{i}>" for i in range(room - len(pieces))] + extra + tags
    vocab = {token: i for i, token in enumerate(spelt)}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": sorted(({"id": vocab[token["content"]], **token} for token in added), key=lambda t: t["id"]),
        "normalizer": normalizer, "pre_tokenizer": splitter,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": bos, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {bos: {"id": bos, "ids": [vocab[bos]], "tokens": [bos]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            *tail]},
        "model": model | {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": vocab, "merges": merges},
    }  # fmt: skip


def write_tokenizer(style, folder):
    names = {"gemma": ("<bos>", "<eos>", "<unk>"), "phi3": ("<s>", "</s>", "<unk>")}
    bos, eos, unknown = names.get(style, (None, "<|im_end|>", None))
    if style == "bytes":
        shutil.copy(folder.parent / "tiny-llama" / "tokenizer.json", folder)
    else:
        write(folder / "tokenizer.json", sentence_piece(style))
    write(folder / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": bos, "eos_token": eos, "unk_token": unknown,
        "chat_template": CHATS[style]})  # fmt: skip


def write(file, value):
    file.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def write_model(name, folder):
    kind, style, dtype, traits = FAMILIES[name]
    config = CONFIG_MAPPING[kind](**(SHARED | traits))
    torch.manual_seed(sum(name.encode()))
    net = AutoModelForCausalLM.from_config(config)
    for weight, values in net.named_parameters():
        if "norm" in weight:
            values.data = (0.0 if kind.startswith("gemma") else 1.0) + 0.3 * torch.randn(values.shape)
        else:
            # Queries and keys are large, so that attention is not even.
            gain = {"q_proj": 2.0, "k_proj": 2.0, "qkv_p": 1.5, "embed": 0.6 * config.hidden_size**0.5}
            times = next((gain[part] for part in gain if part in weight), 1.0)
            if kind.startswith("gemma") and "embed" in weight:
                times = 2.0
            values.data = times * torch.randn(values.shape) / config.hidden_size**0.5
    net.to(dtype).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    write_tokenizer(style, folder)


def main(root, names):
    root = Path(root)
    for name in names or FAMILIES:
        folder = root / name
        folder.mkdir(exist_ok=True)
        write_model(name, folder)
    for name in names or FAMILIES:
        folder = root / name
        model = golden.Model(folder, torch.float64)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        cases = []
        for messages, response in TEXTS:
            case = golden.golden_case(model, tokenizer, dict(messages=messages, response=response, schedules=SCHEDULES))
            prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            (ids,), (leads,) = model.greedy([case["promptIds"]], CONTINUED)
            print(name, len(case["promptIds"]), len(case["responseIds"]), f"{min(leads):.4f}", case["logprob"][:4])
            cases.append(case | {"prompt": prompt, "greedyIds": list(ids)})
        write(folder / "golden.json", {
            "model": name, "computedIn": "float64, transformers 5.19.0", "cases": cases,
            "spelt": [[text, tokenizer.encode(text, add_special_tokens=False)] for text in SPELT]})  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2:])
