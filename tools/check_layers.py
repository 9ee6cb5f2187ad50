#!/usr/bin/env python3
"""Fails when a source file includes a folder that its layer may not see. usage: check_layers.py SRC layers.txt"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
SUFFIXES = {".h", ".cc", ".cu", ".inc"}


def read_layers(table):
    """{folder: (folders it may include, those that its tests may include too, patterns it may not)}"""
    layers = {}
    for line in table.read_text().splitlines():
        name, colon, rest = line.split("#")[0].partition(":")
        if colon:
            words = rest.split()
            allowed = {word for word in words if word[0] not in "!+"}
            for_tests = {word[1:] for word in words if word.startswith("+")}
            banned = [re.compile(word[1:]) for word in words if word.startswith("!")]
            layers[name.strip()] = (allowed, for_tests, banned)
    return layers


def layer_of(path, layers):
    """The deepest folder of the table that a path under src lies in; its first folder where the table has none."""
    parts = pathlib.PurePosixPath(path).parts[:-1]
    folders = ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next((folder for folder in folders if folder in layers), folders[-1] if folders else "")


def breaches(source, layers):
    for file in sorted(path for path in source.rglob("*") if path.suffix in SUFFIXES):
        folder = layer_of(file.relative_to(source).as_posix(), layers)
        if folder not in layers:
            yield f"{file}: folder {folder} is not in the layer table"
            continue
        allowed, for_tests, banned = layers[folder]
        if file.stem.endswith("_test"):
            allowed = allowed | for_tests | {"testing"}
        for path in INCLUDE.findall(file.read_text(errors="replace")):
            target = layer_of(path, layers)
            if target in layers and target != folder and target not in allowed:
                yield f"{file}: {folder} may not include {path}"
            if any(pattern.search(path) for pattern in banned):
                yield f"{file}: {folder} may not include {path}"


def cycle(layers):
    """A folder that may include itself by way of others, or None."""
    reached = {name: set(allowed) for name, (allowed, _, _) in layers.items()}
    for _ in layers:
        for name, folders in reached.items():
            folders |= {far for near in list(folders) for far in reached.get(near, ())}
    return next((name for name, folders in reached.items() if name in folders), None)


def main():
    source, table = map(pathlib.Path, sys.argv[1:3])
    layers = read_layers(table)
    found = [f"layer {name} allows unknown folder {word}"
             for name, (allowed, for_tests, _) in layers.items() for word in allowed | for_tests
             if word not in layers]
    if (looped := cycle(layers)) is not None:
        found.append(f"layer {looped} may include itself by way of others")
    found += breaches(source, layers)
    print("\n".join(found) or "layers ok")
    return 1 if found else 0


sys.exit(main())
