#!/usr/bin/env python3
"""examples/demo.toml explains every key of a configuration, and no other. usage: demo_toml_test.py CADENZA"""
import pathlib
import re
import subprocess
import sys
import tomllib
import unittest

CADENZA = None
DEMO = pathlib.Path(__file__).resolve().parents[1] / "examples" / "demo.toml"


def flat(table, prefix=""):
    keys = set()
    for name, value in table.items():
        keys |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name}
    return keys


class DemoToml(unittest.TestCase):
    def test_has_every_key_of_the_help(self):
        text = subprocess.run([CADENZA, "train", "--help"], capture_output=True, text=True, check=True).stdout
        known = set(re.findall(r"^([a-z0-9_]+(?:\.[a-z0-9_]+)+)  ", text.split("Keys of CONFIG:")[1], re.MULTILINE))
        self.assertGreater(len(known), 40)
        uncommented = re.sub(r"^# (\[[a-z_.]+\]|[a-z_0-9]+ = )", r"\1", DEMO.read_text(), flags=re.MULTILINE)
        self.assertEqual(flat(tomllib.loads(uncommented)), known)


if __name__ == "__main__":
    CADENZA = sys.argv.pop(1)
    unittest.main(verbosity=2)
