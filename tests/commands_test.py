#!/usr/bin/env python3
"""Every command that a page or a help text shows runs. usage: commands_test.py CADENZA

Commands are the lines of fenced blocks that begin with a program of the project, blocks of Python, and the examples
of `cadenza --help`. They run in a folder like the repository's, page by page, in the order of the page.
Training is made short. Of programs that measure, and of make, only the options and targets are checked.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CADENZA = None
ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", *(f"docs/{page.name}" for page in
                                                             sorted((ROOT / "docs").glob("*.md"))))
SHORT_TRAINING = ["--set", "train.steps=1", "--set", "data.tokens_per_rank=512"]
NEEDS_TORCH = ("train", "compare", "eval")


def blocks(page):
    """(language, text) of every fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def words(line):
    return shlex.split(line, comments=True)


def make_folder(folder):
    """What a reader has: the tree, a build, and files of one's own by the names that pages use."""
    (folder / "build").mkdir()
    (folder / "build/cadenza").symlink_to(CADENZA)
    shutil.copytree(ROOT / "docs", folder / "docs")
    for name in ("examples", "tests", "tools", "Makefile"):
        (folder / name).symlink_to(ROOT / name)
    if (ROOT / ".venv").exists():
        (folder / ".venv").symlink_to(ROOT / ".venv")
    (folder / "times.csv").write_text("L,cp,tp,duration_per_doc\n1024,1,1,0.2\n1024,2,1,0.1\n65536,1,1,200\n")
    data = ROOT / "tests/data"
    (folder / "lengths.json").write_text("[60000, 1000, 30000, 5, 2000, 2000, 700, 9000]")
    shutil.copy(data / "documents.json", folder)
    shutil.copytree(data / "tiny_llama", folder / "CHECKPOINT_FOLDER")
    subprocess.run([CADENZA, "plan", "--batch", "lengths.json", "--servers", "8", "--tokens-per-server", "131072",
                    "--out", "plan.json"], cwd=folder, check=True, capture_output=True)


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        help_text = subprocess.run([CADENZA, "train", "--help"], capture_output=True, text=True, check=True).stdout
        cls.torch = "Keys of CONFIG" in help_text

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        make_folder(self.folder)

    def done(self, command, **options):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300, check=False,
                              **options)

    def run_cadenza(self, arguments):
        if arguments[0] in ("train", "compare"):
            arguments = arguments + SHORT_TRAINING
            if not any("data.paths" in argument for argument in arguments) and not (ROOT / ".venv").exists():
                arguments += ["--set", 'data.paths=["docs"]']
        if arguments[0] == "profile" and "--quick" not in arguments:
            arguments = arguments + ["--budget", "0.2"]
        done = self.done([CADENZA, *arguments])
        if arguments[0] in NEEDS_TORCH and not self.torch:
            self.assertEqual(done.returncode, 2)
            self.assertIn("libtorch", done.stderr)
        else:
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])

    def run_line(self, line):
        program, *arguments = words(line)
        name = pathlib.Path(program).name
        if name == "cadenza":
            self.run_cadenza(arguments)
        elif name == "make":
            done = subprocess.run(["make", "-n", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        elif name in ("attention_bench", "planner_bench"):
            folder = ROOT / "bench" / ("planner" if name == "planner_bench" else "")
            source = "".join(path.read_text() for path in folder.glob("*.cc"))
            for option in (argument for argument in arguments if argument.startswith("--")):
                self.assertIn(f'"{option}', source)
        else:
            return False
        return True

    def test_pages(self):
        seen = 0
        for page in PAGES:
            for language, text in blocks(page):
                if language == "python":
                    with self.subTest(page=page, line=text):
                        if "eval" not in text or self.torch:
                            done = self.done([sys.executable, "-c", text])
                            self.assertEqual(done.returncode, 0, done.stderr)
                            seen += 1
                    continue
                for line in text.splitlines() if language in ("", "sh") else []:
                    if not re.match(r"(cadenza|make|build\S*/\w+|\S*planner_bench) ", line):
                        continue
                    with self.subTest(page=page, line=line):
                        seen += self.run_line(line)
        self.assertGreater(seen, 25)

    def test_examples_of_the_help(self):
        text = self.done([CADENZA, "--help"]).stdout
        examples = re.findall(r"^  (cadenza .*)$", text.split("Examples:")[1], re.MULTILINE)
        self.assertGreaterEqual(len(examples), 6)
        for line in examples:
            with self.subTest(line=line):
                self.run_line(line)
                self.assertIn(line, self.done([CADENZA, words(line)[1], "--help"]).stdout)

    def test_the_picture_is_what_its_command_draws(self):
        def texts(path):
            return [element.text for element in
                    xml.etree.ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]

        picture = "docs/attention_per_rank.svg"
        lines = [line for _, text in blocks("README.md") for line in text.splitlines() if picture in line]
        self.assertEqual(len(lines), 1)
        os.remove(self.folder / picture)
        self.run_line(lines[0])
        self.assertEqual(texts(self.folder / picture), texts(ROOT / picture), f"make it again: {lines[0]}")


if __name__ == "__main__":
    CADENZA = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
