#!/usr/bin/env python3
"""Makes tests/data/tiny_llama: a Llama checkpoint of 5,000 weights, and the losses and gradients that it must
give, computed in double precision by the formulas below: dense attention under a mask, no code of Cadenza.

usage: .venv/bin/python tests/data/make_tiny_llama.py            writes the files
       .venv/bin/python tests/data/make_tiny_llama.py --check    fails if expected.json is not what this computes

Weights are uniform in [-0.25, 0.25] (norms in [0.75, 1.25]) by Python's random.Random(17), rounded to
float32. Two documents of 7 and 5 tokens share the batch.
"""
import json
import pathlib
import random
import struct
import sys

import torch

FOLDER = pathlib.Path(__file__).resolve().parent / "tiny_llama"
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "attention_bias": False, "mlp_bias": False, "vocab_size": 40, "hidden_size": 16, "intermediate_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
    "max_position_embeddings": 256, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
    "tie_word_embeddings": False, "torch_dtype": "float32",
}
DOCUMENTS = (7, 5)
SEED = 17
# Elements of the gradient that are kept, one of each kind of weight and more of those behind attention.
PLACES = (("model.embed_tokens.weight", None), ("model.layers.0.self_attn.q_proj.weight", 5),
          ("model.layers.0.self_attn.k_proj.weight", 5), ("model.layers.0.self_attn.v_proj.weight", 5),
          ("model.layers.0.self_attn.o_proj.weight", 7), ("model.layers.0.input_layernorm.weight", 3),
          ("model.layers.1.self_attn.q_proj.weight", 9), ("model.layers.1.self_attn.k_proj.weight", 9),
          ("model.layers.1.mlp.down_proj.weight", 11), ("model.norm.weight", 2), ("lm_head.weight", 97))


def shapes():
    hidden, inner, vocab = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["vocab_size"]
    keys = CONFIG["num_key_value_heads"] * CONFIG["head_dim"]
    yield "model.embed_tokens.weight", (vocab, hidden)
    for layer in range(CONFIG["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        yield f"{at}.input_layernorm.weight", (hidden,)
        for name, rows in (("q", hidden), ("k", keys), ("v", keys)):
            yield f"{at}.self_attn.{name}_proj.weight", (rows, hidden)
        yield f"{at}.self_attn.o_proj.weight", (hidden, hidden)
        yield f"{at}.post_attention_layernorm.weight", (hidden,)
        yield f"{at}.mlp.gate_proj.weight", (inner, hidden)
        yield f"{at}.mlp.up_proj.weight", (inner, hidden)
        yield f"{at}.mlp.down_proj.weight", (hidden, inner)
    yield "model.norm.weight", (hidden,)
    yield "lm_head.weight", (vocab, hidden)


def draw_weights(rng):
    weights = {}
    for name, shape in shapes():
        count = int(torch.tensor(shape).prod())
        values = [(rng.random() - 0.5) / 2 + (1 if "norm" in name else 0) for _ in range(count)]
        weights[name] = torch.tensor(values, dtype=torch.float32).reshape(shape)
    return weights


def write_safetensors(path, weights):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, weight in weights.items():
        values = weight.flatten().tolist()
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(weight.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    weights = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
        weights[name] = torch.tensor(values, dtype=torch.float64).reshape(entry["shape"])
    return weights


def normed(x, weight):
    return weight * x / (x.pow(2).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"]).sqrt()


def rotated(x, positions):
    """x [tokens, heads, head_dim]: the pair (i, i + head_dim / 2) turns by position / theta^(2i / head_dim)."""
    half = CONFIG["head_dim"] // 2
    rates = CONFIG["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = (positions[:, None] * rates)[:, None, :]
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)


def attention(x, weights, at, positions, allowed):
    heads, groups, dim = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"], CONFIG["head_dim"]
    q, k, v = ((x @ weights[f"{at}.self_attn.{name}_proj.weight"].T).reshape(len(x), -1, dim) for name in "qkv")
    q, k = rotated(q, positions), rotated(k, positions)
    outputs = []
    for head in range(heads):
        group = head // (heads // groups)
        scores = q[:, head] @ k[:, group].T / dim ** 0.5
        outputs.append(scores.masked_fill(~allowed, -torch.inf).softmax(-1) @ v[:, group])
    return torch.cat(outputs, -1) @ weights[f"{at}.self_attn.o_proj.weight"].T


def token_losses(weights, ids, labels, positions, document):
    allowed = (document[:, None] == document) & (positions[:, None] >= positions)
    x = weights["model.embed_tokens.weight"][ids]
    for layer in range(CONFIG["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        x = x + attention(normed(x, weights[f"{at}.input_layernorm.weight"]), weights, at, positions, allowed)
        y = normed(x, weights[f"{at}.post_attention_layernorm.weight"])
        gate = y @ weights[f"{at}.mlp.gate_proj.weight"].T
        up = y @ weights[f"{at}.mlp.up_proj.weight"].T
        x = x + (gate * gate.sigmoid() * up) @ weights[f"{at}.mlp.down_proj.weight"].T
    logits = normed(x, weights["model.norm.weight"]) @ weights["lm_head.weight"].T
    return -logits.log_softmax(-1)[torch.arange(len(ids)), labels.clamp(min=0)]


def expected_of(weights):
    rng = random.Random(SEED + 1)
    ids = [int(rng.random() * CONFIG["vocab_size"]) for _ in range(sum(DOCUMENTS))]
    positions, document, labels = [], [], []
    for index, length in enumerate(DOCUMENTS):
        begin = len(positions)
        positions += range(length)
        document += [index] * length
        labels += ids[begin + 1:begin + length] + [-100]  # a document's last token predicts nothing
    for weight in weights.values():
        weight.requires_grad_()
    losses = token_losses(weights, torch.tensor(ids), torch.tensor(labels), torch.tensor(positions),
                          torch.tensor(document))
    valid = torch.tensor(labels) >= 0
    mean = losses[valid].mean()
    mean.backward()
    places = [(name, 16 * ids[3] if at is None else at) for name, at in PLACES]
    return {
        "input_ids": ids, "labels": labels, "valid_targets": int(valid.sum()), "loss_mean": mean.item(),
        "per_token_loss": [loss.item() if ok else None for loss, ok in zip(losses, valid)],
        "grad_of_loss_mean": {f"{name}[{at}]": weights[name].grad.flatten()[at].item() for name, at in places},
    }


def leaves(value):
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in (key, *leaves(item))]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def same(a, b):
    return abs(a - b) <= 1e-12 if isinstance(a, float) and isinstance(b, float) else a == b


def main():
    if "--check" not in sys.argv:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
        write_safetensors(FOLDER / "model.safetensors", draw_weights(random.Random(SEED)))
    expected = expected_of(read_safetensors(FOLDER / "model.safetensors"))
    path = FOLDER / "expected.json"
    if "--check" not in sys.argv:
        path.write_text(json.dumps(expected, indent=1) + "\n")
        return
    got, wanted = leaves(json.loads(path.read_text())), leaves(expected)
    if len(got) != len(wanted) or not all(map(same, got, wanted)):
        sys.exit(f"make_tiny_llama: expected {path} to hold what this script computes, got other values; run "
                 ".venv/bin/python tests/data/make_tiny_llama.py")


if __name__ == "__main__":
    main()
