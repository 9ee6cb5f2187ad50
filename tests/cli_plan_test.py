"""What `cadenza plan` and `cadenza verify` promise. Usage: cli_plan_test.py PATH_TO_CADENZA"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CADENZA = ""
BENCH = pathlib.Path(__file__).resolve().parent / "data" / "batches"
LENGTHS = [16385, 4097, 255, 1, 2, 3]
PAIRS = 142669708


def run(*arguments):
    return subprocess.run(
        [CADENZA, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)


class CliTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.batch = self.write("lengths.json", LENGTHS)

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def plan(self, *arguments):
        return run("plan", "--batch", self.batch, "--servers", 3, "--tokens-per-server", 8000,
                   *arguments)

    def planned(self):
        path = self.folder / "plan.json"
        done = self.plan("--out", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(path.read_text())

    def assert_error(self, done, code, *parts):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("cadenza: error: "), lines[0])
        for part in parts:
            self.assertIn(part, lines[0])


def report_of(done):
    """The one plan of --json."""
    plan, = json.loads(done.stdout)["plans"]
    return plan


class PlanTest(CliTest):
    def test_json_is_one_object_with_every_key(self):
        done = self.plan("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = report_of(done)  # fails where anything else is on stdout
        for key in ("strategy servers tasks max_over_mean lower_bound_over_mean q_bytes kv_bytes "
                    "o_bytes max_recv_bytes plan_ms documents tokens plan_hash model cost_model "
                    "provenance").split():
            self.assertIn(key, report)
        self.assertEqual((report["documents"], report["tokens"]), (6, sum(LENGTHS)))
        self.assertEqual(report["pairs"], PAIRS)
        self.assertEqual(report["q_bytes"], report["o_bytes"])
        self.assertLessEqual(report["max_over_mean"], 1.05)
        self.assertGreaterEqual(report["max_over_mean"], 1)

    def test_all_strategies_keep_their_rows(self):
        done = self.plan("--strategy", "all", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row["strategy"]: row for row in json.loads(done.stdout)["plans"]}
        self.assertGreaterEqual(len(rows), 14)
        self.assertIn("needs capacity 16385", rows["packed"]["refused"])
        self.assertIn("not applicable", rows["hsap"]["refused"])
        for name in ("home", "cad", "ring", "mesh", "per_document_cp", "ulysses", "hdp"):
            self.assertEqual(rows[name]["pairs"], PAIRS, name)
            self.assertAlmostEqual(sum(rows[name]["load_per_server"]) / PAIRS, 1, 9, name)
            self.assertEqual(max(rows[name]["recv_bytes_per_server"]),
                             rows[name]["max_recv_bytes"], name)
        text = self.plan("--strategy", "all").stdout
        self.assertIn("needs capacity 16385", text)
        self.assertEqual(len(text.splitlines()), 2 + len(rows))

    def test_some_strategies_by_name(self):
        done = self.plan("--strategy", "ring,cad", "--json")
        self.assertEqual([row["strategy"] for row in json.loads(done.stdout)["plans"]],
                         ["ring", "cad"])
        self.assert_error(self.plan("--strategy", "ring,cad", "--out", self.folder / "p.json"), 2,
                          "--out", "got 2")
        self.assert_error(self.plan("--strategy", "rings"), 2, "did you mean 'ring'")

    def test_backward_bytes_follow_the_dtype_of_gradients(self):
        report = report_of(self.plan("--json"))
        rows = report["q_bytes"] // 8192
        self.assertEqual(report["backward_q_bytes"], rows * (2 * 8192 + 2 * 4 * 32))
        self.assertEqual(report["backward_kv_bytes"], report["kv_bytes"])

    def test_a_profile_with_exchange_weighs_bytes_against_balance(self):
        def profile(rate):
            pairs = [[1e-9 * q * kv for kv in (64, 65536)] for q in (16, 16384)]
            return self.write(f"exchange{rate}.json", {
                "format": "cadenza-profile", "version": 1, "kernel": "by hand",
                "model": {"heads": 32, "kv_heads": 8, "head_dim": 128, "dtype": "bf16"},
                "q_rows": [16, 16384], "kv_rows": [64, 65536],
                "forward_seconds": pairs, "backward_seconds": pairs,
                "exchange": {"latency_seconds": 1e-5, "bytes_per_second": rate,
                             "pack_bytes_per_second": 1e15}})
        reports = [report_of(self.plan("--cost-model", profile(rate), "--tolerance", 0.3, "--json"))
                   for rate in (1e6, 1e14)]
        slow, fast = reports
        self.assertLess(fast["max_over_mean"], slow["max_over_mean"])
        self.assertLess(slow["total_bytes"], fast["total_bytes"])
        self.assertLessEqual(slow["max_over_mean"], 1.3)
        self.assertTrue(fast["exchange_hidden"])
        self.assertFalse(slow["exchange_hidden"])
        self.assertAlmostEqual(slow["predicted_exchange"], slow["max_recv_bytes"] * 1e-6, delta=1e-2)
        self.assertGreater(slow["predicted_exchange_exposed"], 0)
        text = self.plan("--cost-model", profile(1e6)).stdout
        self.assertIn("not hidden", text)

    def test_bytes_have_a_lower_bound(self):
        crossing = report_of(self.plan("--json"))  # documents live on several servers
        self.assertGreater(crossing["lower_bound_bytes"], 0)
        self.assertLessEqual(crossing["lower_bound_bytes"], crossing["total_bytes"])
        batch = self.write("homes.json", [4000, 1000])
        report = report_of(run("plan", "--batch", batch, "--servers", 2, "--tokens-per-server",
                               4000, "--json"))
        self.assertGreater(report["lower_bound_bytes"], 0)
        self.assertLessEqual(report["lower_bound_bytes"], report["total_bytes"])

    def test_limits_that_cannot_be_kept_name_one_that_can(self):
        done = self.plan("--max-recv-bytes", "1MiB")
        self.assert_error(done, 3, "expected max_recv_bytes >= ", "got 1048576")
        least = int(done.stderr.split(">= ")[1].split(",")[0])
        kept = report_of(self.plan("--max-recv-bytes", least, "--json"))
        self.assertLessEqual(kept["max_recv_bytes"], least)
        self.assert_error(self.plan("--max-recv-bytes", least - 1), 3, "max_recv_bytes")
        self.assert_error(self.plan("--max-recv-bytes", "lots"), 2, "--max-recv-bytes", "'lots'")

    def test_speeds_homes_nodes(self):
        done = self.plan("--speeds", "1,2,1", "--json")
        loads = report_of(done)["load_per_server"]
        self.assertLess(max(loads) / min(loads), 1.2)
        self.assert_error(self.plan("--speeds", "1,2"), 2, "3 servers", "got 2")
        idle = self.plan("--speeds", "1,0,1", "--json", "--explain", "1")
        self.assertEqual(report_of(idle)["load_per_server"][1], 0)
        self.assertIn("speed is 0", report_of(idle)["explanation"])
        self.assert_error(self.plan("--speeds", "1,0,1", "--strategy", "ring"), 2, "server 1", "cad")
        served = report_of(run("plan", "--batch", self.batch, "--servers", 3, "--homes", 2,
                               "--tokens-per-server", 11000, "--json"))
        self.assertEqual((served["homes"], served["servers"]), (2, 3))
        self.assertGreater(served["load_per_server"][2], 0)
        nodes = report_of(self.plan("--servers-per-node", 1, "--json"))
        self.assertEqual(nodes["far_bytes"], nodes["total_bytes"])
        self.assert_error(self.plan("--mesh", "3"), 2, "--mesh", "'3'")

    def test_measures_a_profile_and_plans_by_it(self):
        path = self.folder / "profile.json"
        done = run("profile", "--hidden", 64, "--kv-width", 64, "--dtype", "fp32", "--threads", 1,
                   "--budget", 0.2, "--out", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("own error on 18 other points", done.stdout)
        profile = json.loads(path.read_text())
        for phase in ("forward_seconds", "backward_seconds"):
            self.assertEqual(len(profile[phase]), len(profile["q_rows"]))
            self.assertTrue(all(s > 0 for row in profile[phase] for s in row))
        shape = ("--hidden", 64, "--kv-width", 64, "--dtype", "fp32")
        report = report_of(self.plan("--cost-model", path, *shape, "--json"))
        self.assertEqual(report["cost_model"], "profile")
        self.assertGreater(report["predicted_attention"], 0)
        self.assertGreater(report["extrapolated_part"], 0)  # a short budget measures few lengths
        self.assert_error(self.plan("--cost-model", path), 2, "1 heads, 1 kv heads, head_dim 64",
                          "cadenza profile --hidden 4096")
        self.assert_error(self.plan("--cost-model", self.batch), 2, str(self.batch))

    def test_ping_pong_plans_two_nano_batches_and_prints_its_schedule(self):
        out = str(self.folder / "p.json")
        done = json.loads(self.plan("--schedule", "ping-pong", "--layers", 3, "--out", out,
                                    "--json").stdout)
        self.assertEqual(done["schedule"], "ping-pong")
        a, b = done["plans"]
        self.assertEqual((a["nano_batch"], b["nano_batch"]), (0, 1))
        actions = done["actions"]
        self.assertEqual(actions[:4], ["A segment_forward 0", "A send_inputs 0",
                                       "B segment_forward 0", "B send_inputs 0"])
        # In each layer the forward attends A before B, the backward B before A.
        for layer in range(3):
            self.assertLess(actions.index(f"A attend_forward {layer}"),
                            actions.index(f"B attend_forward {layer}"))
            self.assertLess(actions.index(f"B attend_backward {layer}"),
                            actions.index(f"A attend_backward {layer}"))
        tokens = 0
        for nano in (0, 1):
            path = out.replace(".json", f".nano{nano}.json")
            self.assertEqual(run("verify", path).returncode, 0)
            for document in json.load(open(path))["documents"]:
                begin, end = document.get("queries", [0, document["length"]])
                tokens += end - begin
                self.assertEqual(document.get("nano_batch", 0), nano)
        whole = report_of(self.plan("--json"))
        self.assertEqual(tokens, whole["tokens"])
        text = self.plan("--schedule").stdout
        self.assertIn("cad A", text)
        self.assertIn("B merge_outputs 1", text)
        self.assert_error(self.plan("--schedule", "ping"), 2, "--schedule")

    def test_json_has_one_shape(self):
        for options, names in (((), ["cad"]), (("--strategy", "home,cad"), ["home", "cad"]),
                               (("--schedule",), ["cad", "cad"])):
            report = json.loads(self.plan("--json", *options).stdout)
            self.assertEqual([plan["strategy"] for plan in report["plans"]], names)

    def test_json_is_documented_key_by_key(self):
        page = (pathlib.Path(__file__).resolve().parents[1] / "docs/plan_format.md").read_text()
        reports = [json.loads(self.plan("--json", *options).stdout) for options in
                   (("--explain", 1), ("--strategy", "packed,cad"), ("--schedule",))]
        keys = {key for report in reports for part in (report, *report["plans"]) for key in part}
        self.assertGreater(len(keys), 30)
        for key in sorted(keys):
            self.assertTrue(f"`{key}`" in page or f'"{key}"' in page, f"docs/plan_format.md does not name {key}")

    def test_draws_a_bar_for_each_server(self):
        path = self.folder / "bars.svg"
        done = self.plan("--strategy", "home,packed,cad", "--picture", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        picture = xml.etree.ElementTree.parse(path)
        bars = picture.findall("{http://www.w3.org/2000/svg}rect")
        self.assertEqual(len(bars), 2 * 3)  # packed is refused: a document is longer than a server
        self.assertIn("Attention work of each of 3 ranks", path.read_text())
        self.assert_error(self.plan("--strategy", "packed,hsap", "--picture", path), 2, "--picture")
        self.assert_error(self.plan("--picture", self.folder / "none/bars.svg"), 2, "none/bars.svg")

    def test_explains_a_rank(self):
        batch = self.write("two.json", [1024, 128])
        done = run("plan", "--batch", batch, "--servers", 2, "--tokens-per-server", 1024,
                   "--strategy", "home", "--explain", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("server 1: 0.031 of", done.stdout)
        self.assertIn("holds 128 tokens of 1 documents", done.stdout)
        self.assertIn("keeps document 1: queries [0, 128), keys [0, 128)", done.stdout)
        moved = run("plan", "--batch", batch, "--servers", 2, "--tokens-per-server", 1024,
                    "--explain", 1).stdout
        self.assertIn("it has time for others", moved)
        self.assertRegex(moved, r"gets document 0: queries \[.*; queries from server 0; 0 of ")
        self.assert_error(self.plan("--explain", 3), 2, "from 0 to 2", "got 3")

    def test_same_input_gives_the_same_plan(self):
        hashes = {report_of(self.plan("--json"))["plan_hash"] for _ in range(2)}
        self.assertEqual(len(hashes), 1)

    def test_table_names_its_columns(self):
        done = self.plan()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("max/mean", done.stdout)

    def test_bytes_follow_the_model(self):
        wide = report_of(self.plan("--json"))
        narrow = report_of(self.plan("--json", "--strategy", "home", "--dtype", "fp32"))
        home = report_of(self.plan("--json", "--strategy", "home"))
        self.assertEqual(narrow["kv_bytes"], 2 * home["kv_bytes"])
        self.assertEqual(home["q_bytes"], 0)
        config = self.write("config.json", {"hidden_size": 4096, "num_attention_heads": 32,
                                            "num_key_value_heads": 8})
        self.assertEqual(report_of(self.plan("--json", "--model", config))["q_bytes"],
                         wide["q_bytes"])

    def test_masks_are_planned_and_verified(self):
        for mask in ("causal", "window:100", "window:100:4", "chunked:300", "prefix:50", "full"):
            path = self.folder / "masked.json"
            done = self.plan("--mask", mask, "--out", path)
            self.assertEqual(done.returncode, 0, mask + done.stderr)
            self.assertEqual(run("verify", path, "--tile", 128).returncode, 0, mask)

    def test_bad_options_are_usage_errors(self):
        bad = self.write("bad.json", "[1, 2")
        cases = [
            (("--batch", self.folder / "none.json"), "none.json"),
            (("--batch", bad, "--servers", 2, "--tokens-per-server", 9), "bad.json"),
            (("--batch", self.batch), "--servers"),
            (("--batch", self.batch, "--servers", 2), "--tokens-per-server"),
            (("--servers", 2), "--batch"),
        ]
        with_sizes = ("--batch", self.batch, "--servers", 3, "--tokens-per-server", 8000)
        cases += [
            ((*with_sizes[:2], "--servers", 0, *with_sizes[4:]), "--servers"),
            ((*with_sizes[:2], "--servers", -2, *with_sizes[4:]), "--servers"),
            ((*with_sizes[:2], "--servers", "x", *with_sizes[4:]), "--servers"),
            ((*with_sizes[:4], "--tokens-per-server", -5), "--tokens-per-server"),
            ((*with_sizes[:4], "--tokens-per-server", 5), "tokens"),
            ((*with_sizes, "--tolerance", -0.1), "--tolerance"),
            ((*with_sizes, "--tolerance", "nan"), "--tolerance"),
            ((*with_sizes, "--strategy", "hone"), "home"),
            ((*with_sizes, "--mask", "windw:3"), "--mask"),
            ((*with_sizes, "--mask", "window:-3"), "--mask"),
            ((*with_sizes, "--hidden", -1), "--kv-width"),
            ((*with_sizes, "--dtype", "fp8"), "--dtype"),
            ((*with_sizes, "--model", self.folder / "none.json"), "none.json"),
            ((*with_sizes, "--no-such-option"), "--no-such-option"),
        ]
        for arguments, part in cases:
            with self.subTest(arguments=arguments):
                done = run("plan", *arguments)
                self.assert_error(done, 2, part)
                self.assertEqual(done.stdout, "")

    def test_bench_inputs_meet_the_bound(self):
        for name in ("s8_packed_128k_1", "s24_odd_100k_1", "s96_odd_giant_1"):
            done = run("plan", "--batch", BENCH / f"{name}.json", "--tolerance", 0.02, "--json")
            self.assertLessEqual(report_of(done)["max_over_mean"], 1.02, name)


class VerifyTest(CliTest):
    def verify(self, plan, *arguments):
        return run("verify", self.write("tampered.json", plan), *arguments)

    def test_accepts_what_plan_wrote(self):
        done = self.verify(self.planned(), "--json", "--tile", 128)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertIs(report["ok"], True)
        self.assertEqual((report["pairs"], report["documents"]), (PAIRS, 6))
        self.assertIn("exact", self.verify(self.planned()).stdout)

    def test_refuses_a_missing_task(self):
        plan = self.planned()
        gone = plan["tasks"].pop(0)
        self.assert_error(self.verify(plan), 3, f"document {gone['document']}")

    def test_refuses_a_doubled_task(self):
        plan = self.planned()
        plan["tasks"].append(dict(plan["tasks"][0]))
        self.assert_error(self.verify(plan), 3, f"document {plan['tasks'][0]['document']}")

    def test_refuses_a_task_shifted_by_one_row(self):
        plan = self.planned()
        task = max(plan["tasks"], key=lambda t: t["q"][1] - t["q"][0])
        task["q"] = [task["q"][0] - 1, task["q"][1] - 1]
        if task["q"][0] < 0:
            task["q"] = [task["q"][0] + 2, task["q"][1] + 2]
        self.assert_error(self.verify(plan), 3, f"document {task['document']}")

    def test_refuses_a_cut_off_the_tile(self):
        plan = self.planned()
        self.assert_error(self.verify(plan, "--tile", 8192), 3, "8192")

    def test_json_says_no_and_why(self):
        plan = self.planned()
        plan["tasks"].pop()
        done = self.verify(plan, "--json")
        self.assertEqual(done.returncode, 3)
        report = json.loads(done.stdout)
        self.assertIs(report["ok"], False)
        self.assertIn("document", report["error"])

    def test_malformed_files_are_usage_errors(self):
        self.assert_error(run("verify", self.folder / "none.json"), 2, "none.json")
        self.assert_error(self.verify("{"), 2)
        self.assert_error(self.verify({"format": "cadenza-plan"}), 2)
        self.assert_error(run("verify"), 2)
        self.assert_error(self.verify(self.planned(), "--tile", 0), 2, "--tile")


class HelpTest(unittest.TestCase):
    def test_help_teaches(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        for word in ("core attention disaggregation", "plan", "verify", "train", "compare", "eval",
                     "Examples:"):
            self.assertIn(word, done.stdout)
        self.assertEqual(run("plan", "--help").returncode, 0)
        self.assertRegex(run("--version").stdout, r"^cadenza \d+\.\d+\.\d+\n$")

    def test_no_verb_and_unknown_verbs_are_usage_errors(self):
        for arguments in ((), ("no_such_verb",)):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    CADENZA = sys.argv.pop(1)
    unittest.main(verbosity=2)
