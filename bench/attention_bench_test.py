"""attention_bench runs, and its JSON has its form. usage: attention_bench_test.py BENCH"""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

BENCH = sys.argv.pop(1)
MEASURED = ["gflops", "peak_gflops", "peak_fraction"]
PYTORCH = ["pytorch_gflops", "pytorch_ratio"]
KEYS = ["case", "dtype", "phase", *MEASURED, *PYTORCH, "isa"]


def run(*arguments):
    return subprocess.run([BENCH, "--smoke", "--rounds", "1", *arguments], capture_output=True, text=True, timeout=240)


def positive(number):
    return isinstance(number, (int, float)) and not isinstance(number, bool) and number > 0


class AttentionBench(unittest.TestCase):
    def check_row(self, row):
        self.assertEqual(list(row)[:9], KEYS[:9])
        if row["error"]:
            self.assertIsNone(row["gflops"], row)
            return
        for key in MEASURED:
            self.assertTrue(positive(row[key]), row)
        self.assertAlmostEqual(row["peak_fraction"], row["gflops"] / row["peak_gflops"], places=6)
        if row["pytorch_form"]:
            self.assertTrue(all(positive(row[key]) for key in PYTORCH), row)
            self.assertAlmostEqual(row["pytorch_ratio"] * row["pytorch_gflops"] / row["gflops"], 1, places=6)
            self.assertLess(row["pytorch_distance"], 0.05, row)
        else:
            self.assertTrue(all(row[key] is None for key in PYTORCH), row)
        if row["ratio_to"]:
            self.assertTrue(positive(row["throughput_ratio"]), row)

    def test_every_case_in_every_dtype_and_phase(self):
        names = run("--list").stdout.split()
        done = run("--json")
        rows = json.loads(done.stdout)  # nothing but JSON
        self.assertEqual([(row["case"], row["dtype"], row["phase"]) for row in rows if row["dtype"] == "fp32"],
                         [(name, "fp32", phase) for name in names for phase in ("forward", "forward_backward")])
        self.assertEqual(len(rows), 4 * len(names))
        for row in rows:
            self.check_row(row)
        failed = [row for row in rows if row["error"]]
        self.assertTrue(all(row["dtype"] == "bf16" for row in failed), failed)
        self.assertEqual(done.returncode, 1 if failed else 0, done.stderr)
        for kind in ("dense", "rows", "tiny8", "threads", "mla", "window", "full"):
            self.assertTrue(any(kind in name for name in names), names)

    def test_a_choice_of_cases_as_a_table_and_in_a_file(self):
        table = run("--case", "^doc.*_d32$", "--dtype", "fp32", "--phase", "forward").stdout.splitlines()
        self.assertEqual(len(table), 2, table)
        self.assertIn("GFLOP/s", table[0])
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rows.json"
            run("--case", "tiny8", "--dtype", "fp32", "--phase", "forward_backward", "--json", str(file))
            rows = json.loads(file.read_text())
        self.assertEqual([row["phase"] for row in rows], ["forward_backward"] * 2)
        self.assertEqual(rows[1]["ratio_to"], rows[0]["case"])

    def test_what_cannot_be_is_refused(self):
        for arguments, word in ((["--case", "no such case"], "--list"), (["--case", "("], "regular expression"),
                                (["--isa", "abacus"], "abacus"), (["--lengths", "/no/such/file"], "/no/such/file")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_an_interrupt_prints_what_is_measured(self):
        bench = subprocess.Popen([BENCH, "--smoke", "--rounds", "1000000", "--case", "_d32$", "--dtype", "fp32", "--json"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in bench.stderr:  # until a round that counts is over
            if re.search(r"round ([2-9]|\d\d+) of", line):
                break
        bench.send_signal(signal.SIGINT)
        out, _ = bench.communicate(timeout=60)
        self.assertEqual(bench.returncode, 130)
        rows = json.loads(out)
        self.assertTrue(rows)
        for row in rows:
            self.check_row(row)
            self.assertGreaterEqual(row["rounds"], 1)


unittest.main(verbosity=1)
