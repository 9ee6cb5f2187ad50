#!/usr/bin/env python3
"""Tries train, compare and eval as a new user would. usage: cli_train_test.py CADENZA"""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

CADENZA = None
FIXTURE = pathlib.Path(__file__).resolve().parent / "data/tiny_llama"

CONFIG = """
[model]
hidden_size = 32
intermediate_size = 48
num_hidden_layers = 2
num_attention_heads = 4
num_key_value_heads = 2
[data]
paths = ["{data}"]
tokens_per_rank = {tokens}
[train]
steps = {steps}
[runtime]
deadline_seconds = 10
[run]
folder = "{folder}/run"
"""


def call(*arguments, timeout=120, **options):
    environment = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
    return subprocess.run([CADENZA, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          env=environment, **options)


def read_safetensors(path):
    """{name: flat list of floats} of an F32 file."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    assert size % 8 == 0, "the header is padded to 8 bytes"
    header = json.loads(data[8:8 + size])
    assert header.pop("__metadata__")["format"] == "pt"
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return tensors


class Folder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.data = self.folder / "data"
        self.data.mkdir()
        for index, length in enumerate((900, 40, 3, 250, 1, 2000, 77)):
            (self.data / f"{index}.txt").write_text(("The quick brown fox. " * 200)[index:index + length])

    def tearDown(self):
        self.temporary.cleanup()

    def config(self, steps=3, tokens=512):
        path = self.folder / "config.toml"
        path.write_text(CONFIG.format(data=self.data, folder=self.folder, steps=steps, tokens=tokens))
        return path

    def refused(self, code, words, *arguments):
        """One line on standard error, nothing on standard output, this exit code, within seconds."""
        result = call(*arguments, timeout=30)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        errors = [line for line in result.stderr.splitlines() if "error" in line]
        self.assertEqual(len(errors), 1, result.stderr)
        for word in words:
            self.assertIn(word, errors[0])


class Train(Folder):
    def test_leaves_metrics_ranks_and_what_made_it(self):
        result = call("train", self.config(), "--nproc", 2)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "")
        run = self.folder / "run"
        steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([step["step"] for step in steps], [1, 2, 3])
        self.assertLess(steps[-1]["loss"], steps[0]["loss"])
        ranks = json.loads((run / "ranks.json").read_text())
        self.assertEqual([rank["rank"] for rank in ranks], [0, 1])
        self.assertEqual({rank["role"] for rank in ranks}, {"train"})
        made_by = json.loads((run / "run.json").read_text())
        self.assertEqual(made_by["ranks"], 2)
        self.assertEqual(made_by["config"]["train"]["steps"], 3)
        self.assertIn("command_line", made_by["provenance"])

    def test_bf16_leaves_losses_like_those_of_fp32_and_moves_half_the_bytes(self):
        runs = {}
        for dtype in ("fp32", "bf16"):
            folder = self.folder / dtype
            result = call("train", self.config(), "--nproc", 2, "--set", f"train.dtype={dtype}",
                          "--set", f"run.folder={folder}")
            self.assertEqual(result.returncode, 0, result.stderr)
            runs[dtype] = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
            made_by = json.loads((folder / "run.json").read_text())
            self.assertEqual(made_by["config"]["train"]["dtype"], dtype)
        for fp32, bf16 in zip(runs["fp32"], runs["bf16"], strict=True):
            self.assertNotEqual(bf16["loss"], fp32["loss"])
            self.assertLessEqual(abs(bf16["loss"] - fp32["loss"]), 0.01 * fp32["loss"])
            self.assertEqual(bf16["plan_hashes"], fp32["plan_hashes"])
        sent = {dtype: sum(step["sent_bytes"] for step in steps) for dtype, steps in runs.items()}
        # LSE and D stay fp32: a little more than half.
        self.assertLess(sent["bf16"], 0.7 * sent["fp32"])
        self.assertGreater(sent["bf16"], 0.5 * sent["fp32"])

    def losses(self, *settings, nproc=3):
        """Of each step of a run over processes."""
        result = call("train", self.config(steps=3, tokens=1200), "--nproc", nproc,
                      *(word for setting in settings for word in ("--set", setting)))
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line)["loss"] for line in (self.folder / "run/metrics.jsonl").open()]

    def test_ping_pong_over_processes_trains_the_losses_of_the_plain_schedule(self):
        plain = self.losses(nproc=1)
        for settings in (("runtime.schedule=ping-pong",),
                         ("runtime.schedule=ping-pong", "memory.kv_reuse=resend", "train.micro_batches=1"),
                         ("runtime.schedule=plain", "planner.strategy=ring", "planner.capacity=3600")):
            # One process has room for what three have.
            losses = self.losses("data.tokens_per_rank=400", *settings)
            for ours, theirs in zip(losses, plain, strict=True):
                self.assertLess(abs(ours - theirs), 1e-5 * theirs, settings)

    def test_every_rank_says_how_it_spent_its_step(self):
        self.losses()
        lanes = {"segment", "attention", "pack", "unpack", "transfer_wait", "imbalance_wait", "reduce", "plan",
                 "update", "other", "step"}
        for line in (self.folder / "run/metrics.jsonl").open():
            ranks = json.loads(line)["rank_lanes"]
            self.assertEqual(len(ranks), 3)
            for rank in ranks:
                self.assertEqual(set(rank), lanes)
                step = rank.pop("step")
                self.assertAlmostEqual(sum(rank.values()), step, delta=1e-9 + 1e-9 * step)
                self.assertTrue(all(seconds >= 0 for seconds in rank.values()), rank)

    def test_keeps_an_earlier_run(self):
        for _ in range(2):
            self.assertEqual(call("train", self.config(steps=1)).returncode, 0)
        self.assertTrue((self.folder / "run/metrics.jsonl").exists())
        self.assertTrue((self.folder / "run.1/metrics.jsonl").exists())

    def start(self, ranks, *arguments):
        """A training that does not end by itself, in its first steps, and its ranks' pids."""
        process = subprocess.Popen([CADENZA, "train", self.config(steps=100000), "--nproc", str(ranks), *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        metrics = self.folder / "run/metrics.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (metrics.exists() and metrics.read_text()):
            time.sleep(0.05)
        return process, [rank["pid"] for rank in json.loads((self.folder / "run/ranks.json").read_text())]

    def ends(self, process, pids, code, words):
        """Ends with this code and one error line that holds the words, and leaves no rank."""
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, code, errors)
        lines = [line for line in errors.splitlines() if "error" in line]
        self.assertEqual(len(lines), 1, errors)
        for word in words:
            self.assertIn(word, lines[0])
        for pid in pids:
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists(), f"process {pid} is left")

    def test_killed_rank_ends_the_others_and_is_named(self):
        process, pids = self.start(3)
        os.kill(pids[1], signal.SIGKILL)
        self.ends(process, pids, 4, ["rank 1", f"pid {pids[1]}", "killed by signal 9"])

    def test_stopped_rank_ends_the_others_at_the_deadline_and_is_named(self):
        process, pids = self.start(3, "--set", "runtime.deadline_seconds=2")
        os.kill(pids[0], signal.SIGSTOP)
        self.ends(process, pids, 4, ["rank 0", "deadline"])

    def test_interrupt_ends_all_ranks(self):
        process, pids = self.start(2)
        process.send_signal(signal.SIGINT)
        self.ends(process, pids, 130, ["interrupted"])


class BadInput(Folder):
    def test_each_is_one_line_that_says_what_to_do(self):
        config = self.config()
        binary = self.folder / "binary.bin"
        binary.write_bytes(b"ab\0cd")
        empty = self.folder / "empty"
        empty.mkdir()
        self.refused(2, ["nowhere.toml"], "train", self.folder / "nowhere.toml")
        self.refused(2, ["learning_rate"], "train", config, "--set", "train.learning_rat=1e-3")
        self.refused(2, ["learning_rate"], "train", config, "--set", "train.learning_rate=-1")
        self.refused(2, ["--nproc"], "train", config, "--nproc", 0)
        self.refused(2, ["--nproc"], "train", config, "--nproc", -2)
        for nproc in (1, 2):
            self.refused(2, [str(empty)], "train", config, "--nproc", nproc, "--set", f'data.paths=["{empty}"]')
            self.refused(2, [str(binary), "NUL"], "train", config, "--nproc", nproc, "--set", f'data.paths=["{binary}"]')
            self.refused(2, ["absent"], "train", config, "--nproc", nproc, "--set", 'data.paths=["absent"]')
        self.refused(2, ["cad"], "train", config, "--set", 'planner.strategy="cat"')


class Compare(Folder):
    def test_json_alone_stands_on_standard_output(self):
        result = call("compare", self.config(), "--nproc", 2, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["ranks"], 2)
        possible = report["possible"]
        self.assertGreaterEqual(possible["attention_max_over_mean"], 1)
        self.assertGreaterEqual(possible["total_throughput_over_first"], 1)
        self.assertTrue(0 < possible["attention_share"] < 1)
        home, cad = report["strategies"]
        self.assertEqual((home["name"], cad["name"]), ("home", "cad"))
        for first, second in zip(home["losses"], cad["losses"]):
            self.assertLessEqual(abs(first - second), 1e-5 * abs(first))
        for row in (home, cad):
            self.assertEqual(len(row["step_seconds"]), 3)
            self.assertEqual(len(row["peak_memory_bytes"]), 2)
            self.assertGreater(row["bytes_per_step"], 0)
            self.assertGreaterEqual(row["attention_max_over_mean"], 1)

    def test_strategies_agree_in_bf16(self):
        result = call("compare", self.config(), "--nproc", 2, "--json", "--set", "train.dtype=bf16")
        self.assertEqual(result.returncode, 0, result.stderr)
        home, cad = json.loads(result.stdout)["strategies"]
        for first, second in zip(home["losses"], cad["losses"], strict=True):
            self.assertLessEqual(abs(first - second), 5e-3 * abs(first))

    def test_prints_a_table(self):
        result = call("compare", self.config(steps=2))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("attention max/mean", result.stdout)
        self.assertRegex(result.stdout, r"possible: with even attention the whole run of home would be \d+ % faster")
        self.assertRegex(result.stdout, r"measured: cad: median step \d+ % (faster|slower), whole run \d+ % (faster|slower)")


class Eval(Folder):
    def check(self, nproc, strategy):
        expected = json.loads((FIXTURE / "expected.json").read_text())
        ids = expected["input_ids"]
        documents = self.folder / "documents.json"
        documents.write_text(json.dumps({"documents": [ids[:7], ids[7:]]}))
        gradients = self.folder / "gradients.safetensors"
        result = call("eval", FIXTURE, documents, "--nproc", nproc, "--strategy", strategy, "--json",
                      "--gradients", gradients)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["valid_targets"], expected["valid_targets"])
        self.assertLessEqual(abs(report["loss_mean"] - expected["loss_mean"]), 1e-5 * expected["loss_mean"])
        for got, wanted in zip(report["per_token_loss"], expected["per_token_loss"], strict=True):
            self.assertEqual(got is None, wanted is None)
            if wanted is not None:
                self.assertLessEqual(abs(got - wanted), 1e-5 * abs(wanted))
        tensors = read_safetensors(gradients)
        for place, wanted in expected["grad_of_loss_mean"].items():
            name, _, index = place.rstrip("]").partition("[")
            largest = max(map(abs, tensors[name]))
            self.assertLessEqual(abs(tensors[name][int(index)] - wanted), 1e-5 * largest, place)

    def test_gives_the_reference_values_on_any_number_of_ranks(self):
        for nproc in (1, 2, 3):
            for strategy in ("home", "cad"):
                with self.subTest(nproc=nproc, strategy=strategy):
                    self.check(nproc, strategy)

    def test_bf16_gives_the_reference_values_to_its_precision(self):
        expected = json.loads((FIXTURE / "expected.json").read_text())
        ids = expected["input_ids"]
        documents, gradients = self.folder / "documents.json", self.folder / "gradients.safetensors"
        documents.write_text(json.dumps({"documents": [ids[:7], ids[7:]]}))
        result = call("eval", FIXTURE, documents, "--nproc", 2, "--json", "--dtype", "bf16", "--gradients", gradients)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["dtype"], "bf16")
        self.assertLessEqual(abs(report["loss_mean"] - expected["loss_mean"]), 5e-3 * expected["loss_mean"])
        tensors = read_safetensors(gradients)
        for place, wanted in expected["grad_of_loss_mean"].items():
            name, _, index = place.rstrip("]").partition("[")
            largest = max(map(abs, tensors[name]))
            self.assertLessEqual(abs(tensors[name][int(index)] - wanted), 0.06 * largest, place)
        self.refused(2, ["--dtype", "fp16"], "eval", FIXTURE, documents, "--dtype", "fp16")

    def test_loss_that_is_not_finite_is_an_error_and_writes_nothing(self):
        checkpoint = self.folder / "checkpoint"
        checkpoint.mkdir()
        (checkpoint / "config.json").write_bytes((FIXTURE / "config.json").read_bytes())
        data = bytearray((FIXTURE / "model.safetensors").read_bytes())
        size = struct.unpack("<Q", data[:8])[0]
        norm = json.loads(data[8:8 + size])["model.norm.weight"]["data_offsets"][0]
        data[8 + size + norm:12 + size + norm] = struct.pack("<f", float("nan"))
        (checkpoint / "model.safetensors").write_bytes(data)
        documents, gradients = self.folder / "documents.json", self.folder / "gradients.safetensors"
        documents.write_text('{"documents": [[1, 2, 3], [4, 5]]}')
        for nproc in (1, 2):
            self.refused(5, ["documents[0]", "not finite"], "eval", checkpoint, documents, "--json",
                         "--nproc", nproc, "--gradients", gradients)
            self.assertFalse(gradients.exists())

    def test_gradients_never_replace_an_input(self):
        documents = self.folder / "documents.json"
        documents.write_text('{"documents": [[1, 2, 3]]}')
        self.refused(2, ["overwrite"], "eval", FIXTURE, documents, "--gradients", documents)
        self.refused(2, ["overwrite"], "eval", FIXTURE, documents, "--gradients", FIXTURE / "model.safetensors")
        self.assertEqual(documents.read_text(), '{"documents": [[1, 2, 3]]}')

    def test_refuses_ids_outside_the_vocabulary_and_empty_documents(self):
        documents = self.folder / "documents.json"
        for content, words in (('{"documents": [[1, 40]]}', ["documents[0][1]", "40"]),
                               ('{"documents": [[1], []]}', ["documents[1]"]),
                               ('{"documents": []}', ["no document"]),
                               ('[[1]]', ["documents"]), ('{"documents": [[1', ["JSON"])):
            documents.write_text(content)
            self.refused(2, words, "eval", FIXTURE, documents)
        self.refused(2, ["vocabulary"], "eval", FIXTURE, self.data)
        self.refused(2, ["config.json"], "eval", self.folder, documents)


if __name__ == "__main__":
    CADENZA = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
