#!/usr/bin/env python3
"""Draws the batches that the planner's tests and planner_bench plan.

usage: tests/data/make_batches.py            writes tests/data/batches/*.json
       tests/data/make_batches.py --check    fails if a file there is not what this script draws

A document's length is exp(N(ln median, sigma)) tokens, rounded, and cut to 16 ... longest. Documents
are drawn one after another until all servers are full.
  packed   every server's last document is cut at its end, so each document has one home
  spread   only the last document of the batch is cut: documents cross from server to server
"""
import json
import math
import pathlib
import random
import sys
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).resolve().parent / "batches"
K = 1024


@dataclass
class Draw:
    servers: int
    tokens_per_server: int
    median: float
    sigma: float
    longest: int
    layout: str
    seed: int
    first: tuple = ()  # lengths before the drawn ones


DRAWS = {
    # Long-tailed documents in 128K of tokens per server: most of the work is in a few of them.
    **{f"s{n}_packed_128k_{seed}": Draw(n, 128 * K, 3000, 1.6, 128 * K, "packed", seed)
       for n in (8, 64) for seed in (1, 2)},
    "s256_packed_128k_1": Draw(256, 128 * K, 3000, 1.6, 128 * K, "packed", 1),
    # Documents longer than a server.
    **{f"s{n}_spread_512k_{seed}": Draw(n, 128 * K, 12000, 1.8, 512 * K, "spread", seed)
       for n in (32, 64) for seed in (1, 2)},
    # Many short documents, few long ones.
    "s64_short_128k_1": Draw(64, 128 * K, 800, 1.5, 128 * K, "packed", 1),
    # Sizes that divide nothing.
    "s3_odd_1": Draw(3, 1237, 97, 1.5, 1237, "spread", 1),
    "s16_odd_documents_1": Draw(16, 32768, 1500, 1.5, 32749, "spread", 1),
    "s24_odd_100k_1": Draw(24, 100003, 5000, 1.7, 300007, "spread", 1),
    "s96_odd_giant_1": Draw(96, 16411, 700, 1.3, 16411, "spread", 1, first=(700001,)),
}


def normal(rng):
    """From rng.random() alone, whose values Python keeps from version to version (Box and Muller)."""
    u, v = 1 - rng.random(), rng.random()
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


def batch(name, draw):
    rng = random.Random(draw.seed)
    left = draw.servers * draw.tokens_per_server
    documents = []
    while left > 0:
        if len(documents) < len(draw.first):
            length = draw.first[len(documents)]
        else:
            drawn = round(draw.median * math.exp(draw.sigma * normal(rng)))
            length = min(max(16, drawn), draw.longest)
        room = left
        if draw.layout == "packed":
            room = (left - 1) % draw.tokens_per_server + 1
        documents.append(min(length, room))
        left -= documents[-1]
    return {"name": name, "servers": draw.servers, "tokens_per_server": draw.tokens_per_server,
            "documents": documents}


def main():
    FOLDER.mkdir(exist_ok=True)
    wrong = {path.name for path in FOLDER.glob("*.json")} - {f"{name}.json" for name in DRAWS}
    for name, draw in DRAWS.items():
        text = json.dumps(batch(name, draw)) + "\n"
        path = FOLDER / f"{name}.json"
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.add(path.name)
    if wrong:
        sys.exit(f"make_batches: expected what this script draws, got other {', '.join(sorted(wrong))} in "
                 f"{FOLDER}; run tests/data/make_batches.py")


if __name__ == "__main__":
    main()
