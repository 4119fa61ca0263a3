import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcache_cli.app import app
from simulators.latency import dump_calibration
from tests.simulators.sample_calibration import sample_calibration

SHARED_PREFIX = list(range(100, 164))


def _write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Token ids with times: three conversations that share a beginning, then one comes back after an hour."""
    rows = []
    for n, start in enumerate([0, 60, 120, 3720]):
        tokens = [*SHARED_PREFIX, *range(1000 * (n % 3 + 1), 1000 * (n % 3 + 1) + 40)]
        rows.append({"id": f"r{n + 1}", "timestamp": 1_790_000_000 + start, "tokens": tokens})
    return _write(tmp_path / "log.jsonl", rows)


@pytest.fixture
def untimed(tmp_path: Path) -> Path:
    return _write(tmp_path / "untimed.jsonl", [{"id": f"p{n}", "tokens": SHARED_PREFIX} for n in range(3)])


def _run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["simulate", *map(str, words)])
    assert result.exit_code == code, result.output
    return result.output if code == 2 or code == 3 else result.stdout


def _json(*words: object, code: int = 0) -> dict:
    return json.loads(_run(*words, "--json", "-q", code=code))


def _table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_sweep_answers_with_the_ceiling_and_the_knee(log: Path):
    found = _json(log, "--block-size", "16,32")
    assert found["mode"] == "sweep"
    assert found["figures"]["prompt_tokens"] == 416
    # r2 and r3 read 64 tokens, r4 all but the last token of its own earlier prompt, in whole blocks.
    assert [size["ceiling_tokens"] for size in found["sweep"]["sizes"]] == [64 + 64 + 96, 64 + 64 + 96]
    assert "knee" in found["definitions"]


def test_the_table_by_capacity_says_which_lifetime_it_is_for(log: Path):
    words = (log, "--block-size", 16, "--capacity", "128tokens,256tokens")
    assert "Hit ratio by capacity, no expiry (the longest)" in _run(*words)
    assert "Hit ratio by capacity, a lifetime of 10.0 min (the longest)" in _run(*words, "--ttl", "30s,10m")
    assert "Hit ratio by capacity, a lifetime of 30 s\n" in _run(*words, "--ttl", "30s")
    assert "Hit ratio by capacity, no expiry\n" in _run(*words, "--ttl", "none")


def test_the_same_input_gives_the_same_bytes(log: Path):
    assert _run(log, "--json", "-q") == _run(log, "--json", "-q")
    words = (log, "--engine", "vllm", "--num-gpu-blocks", 20, "--json", "-q")
    assert _run(*words) == _run(*words)


def test_the_grid_goes_to_a_file(log: Path, tmp_path: Path):
    grid = tmp_path / "grid.csv"
    words = ("--block-size", 16, "--capacity", "7blocks,20blocks", "--ttl", "5m,none")
    _run(log, *words, "--kv-bytes-per-token", 10, "-o", grid)
    rows = _table(grid)
    assert [(r["capacity_blocks"], r["capacity_bytes"], r["ttl_s"], r["hit_tokens"]) for r in rows] == [
        ("7", "1120", "300", "128"),
        ("20", "3200", "300", "128"),
        ("7", "1120", "", "192"),
        ("20", "3200", "", "224"),
    ]


def test_capacities_that_are_the_same_in_blocks_stay_in_line(log: Path, tmp_path: Path):
    words = ("--block-size", "1,64", "--capacity", "130tokens,140tokens,200tokens", "--ttl", "none")
    found = _json(log, *words, "-o", tmp_path / "grid.csv")
    assert [size["capacity_blocks"] for size in found["sweep"]["sizes"]] == [[130, 140, 200], [2, 2, 3]]
    assert len(_table(tmp_path / "grid.csv")) == 3 + 2
    rows = _run(log, *words).split("Hit ratio by capacity")[1].split("What each")[0]
    assert [line.split()[0] for line in rows.splitlines() if "%" in line] == ["130", "140", "200"]


def test_a_capacity_in_bytes_goes_by_the_model(log: Path):
    found = _json(
        log, "--block-size", "16", "--capacity", "20MiB,64MiB", "--model", "qwen3-8b", "--ttl", "none"
    )
    bytes_a_block = 16 * 2 * 36 * 8 * 128 * 2
    assert found["sweep"]["sizes"][0]["capacity_blocks"] == [n * 2**20 // bytes_a_block for n in (20, 64)]


def test_one_configuration_says_why_each_token_missed(log: Path, tmp_path: Path):
    out = tmp_path / "requests.csv"
    words = ("--block-size", 16, "--capacity", "20blocks", "--ttl", "5m")
    found = _json(log, *words, "-o", out)
    assert found["tokens_by_class"]["expired"] == 96
    assert sum(t or 0 for t in found["tokens_by_class"].values()) == found["prompt_tokens"] == 416
    rows = _table(out)
    assert [(r["request_id"], r["prompt_tokens"], r["hit_tokens"]) for r in rows] == [
        ("r1", "104", "0"),
        ("r2", "104", "64"),
        ("r3", "104", "64"),
        ("r4", "104", "0"),
    ]
    for row in rows:
        tokens = [int(row[name] or 0) for name in row if name.endswith("_tokens") and name != "prompt_tokens"]
        assert sum(tokens) == int(row["prompt_tokens"])


def test_a_person_reads_a_sentence_first(log: Path):
    assert _run(log).startswith("A cache without bounds reads 53.8 % of the prompt tokens")
    one = _run(log, "--block-size", 16, "--capacity", "none")
    assert one.startswith("53.8 % of the prompt tokens are read from cache")
    assert "never seen" in one


def test_engines_are_asked_in_their_own_words(log: Path):
    vllm = _json(log, "--engine", "vllm", "--num-gpu-blocks", 21)
    assert vllm["hit_tokens"] == 224
    assert vllm["configuration"]["standing"] == "bit for bit, requests one at a time"
    slots = _json(log, "--engine", "llamacpp-slots", "--parallel", 3, "-E", "slot-prompt-similarity=0.7")
    assert slots["hit_tokens"] == 103
    assert "not verified" in slots["configuration"]["standing"]


def test_vllm_blocks_are_derived_from_memory(log: Path):
    memory = ("--gpu-memory", "24GiB", "--gpu-memory-utilization", 0.9, "--model", "qwen3-8b")
    found = _json(log, "--engine", "vllm", *memory)
    kv = int(24 * 2**30 * 0.9) - round(8.19e9 * 2)
    assert found["configuration"]["settings"]["num-gpu-blocks"] == kv // (16 * 2 * 36 * 8 * 128 * 2)
    assert "upper bound" in found["configuration"]["notes"][0]


def test_policies_and_replicas_are_replayed(log: Path):
    found = _json(log, "--block-size", 16, "--policy", "fifo", "--replicas", 2)
    assert found["configuration"]["model"] == "fifo"
    assert found["tokens_by_class"]["other_replica"] == 64 + 32
    best = _json(log, "--block-size", 16, "--policy", "belady", "--capacity", "8blocks")
    assert best["hit_tokens"] >= found["hit_tokens"]


def test_a_tier_below_keeps_what_the_first_gives_up(log: Path):
    words = ("--block-size", 16, "--capacity", "7blocks", "--ttl", "none")
    found = _json(log, *words, "--tier", "cpu=100blocks")
    assert found["hit_tokens"] == 224
    assert found["replay"]["tiers"][1]["hit_blocks"] > 0


def test_namespaces_that_keep_apart_are_named(tmp_path: Path):
    body = {"model": "gpt-5", "messages": [{"role": "system", "content": "Answer in one short line. " * 20}]}
    rows = [
        {"id": f"r{n}", "timestamp": 1_790_000_000 + n, "tenant": tenant, "request": body}
        for n, tenant in enumerate(["acme", "zeta"])
    ]
    log = _write(tmp_path / "tenants.jsonl", rows)
    found = _json(log, "--block-size", 16, "--capacity", "none", "--namespace", "tenant")
    kept_apart = found["prompt_tokens"] // 2
    assert found["tokens_by_class"]["isolation"] == kept_apart > 100
    assert found["isolation_by_field"] == {"tenant": kept_apart}
    assert found["hit_tokens"] == 0


def test_a_run_stands_beside_an_earlier_one(log: Path, tmp_path: Path):
    before = tmp_path / "before.json"
    before.write_text(_run(log, "--engine", "vllm", "--num-gpu-blocks", 9, "--json", "-q"))
    found = _json(log, "--engine", "vllm", "--num-gpu-blocks", 30, "--compare", before)
    rows = {row["name"]: row for row in found["compare"]["rows"]}
    assert rows["tokens.hit"]["change"] == rows["tokens.hit"]["now"] - rows["tokens.hit"]["before"] > 0
    assert "Beside" in _run(log, "--engine", "vllm", "--num-gpu-blocks", 30, "--compare", before)


def test_a_gate_below_the_ratio_passes_and_above_fails(log: Path):
    _run(log, "--fail-below", 0.5)
    _run(log, "--fail-below", 0.6, code=1)
    _run(log, "--block-size", 16, "--capacity", "20blocks", "--ttl", "5m", "--fail-below", 0.4, code=1)


def test_plots_are_drawn(log: Path, tmp_path: Path):
    for name, words in (("sweep.png", ()), ("run.png", ("--engine", "vllm", "--num-gpu-blocks", 20))):
        _run(log, *words, "--plot", tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_calibration_gives_times_to_first_token(log: Path, tmp_path: Path):
    file = tmp_path / "calibration.json"
    file.write_bytes(dump_calibration(sample_calibration()))
    found = _json(log, "--block-size", 16, "--capacity", "none", "--calibration", file)
    assert 0 < found["ttft"]["p50_with_s"] < found["ttft"]["p50_without_s"]


def test_a_trace_file_answers_like_its_log(log: Path, tmp_path: Path):
    trace = tmp_path / "trace.parquet"
    assert CliRunner().invoke(app, ["trace", str(log), "-o", str(trace)]).exit_code == 0
    assert _json(trace)["sweep"] == _json(log)["sweep"]


def test_hits_come_in_units_of_the_block(tmp_path: Path):
    """Figures of a provider with units of 64 tokens: prompts of these lengths share these prefixes with earlier ones."""
    shared = [0, 3000, 5170, 6070, 40]
    prompts = [3010, 5180, 6100, 7000, 900]
    conversation = list(range(10_000))
    rows = []
    for n, (common, length) in enumerate(zip(shared, prompts, strict=True)):
        own = list(range(100_000 * (n + 1), 100_000 * (n + 1) + length - common))
        tokens = conversation[:common] + own
        conversation = tokens if n == 0 or common > 100 else conversation
        rows.append({"id": f"r{n + 1}", "tokens": tokens})
    out = tmp_path / "requests.csv"
    _run(_write(tmp_path / "units.jsonl", rows), "--block-size", 64, "--capacity", "none", "-o", out)
    assert [int(row["hit_tokens"]) for row in _table(out)] == [0, 2944, 5120, 6016, 0]
    assert [int(row["block_tail_tokens"]) for row in _table(out)] == [0, 56, 50, 54, 40]


def test_a_cache_object_that_grew_in_place_is_not_a_hit(tmp_path: Path):
    calls = [("c0", 300, 51), ("c0", 351, 51), ("copy", 300, 40)]
    rows = [
        {
            "call": n + 1,
            "cache_object": name,
            "prefix_tokens": 300,
            "cache_len_before": before,
            "new_tokens": new,
            "cache_len_after": before + new,
        }
        for n, (name, before, new) in enumerate(calls)
    ]
    log = _write(tmp_path / "objects.jsonl", rows)
    found = _json(log, code=1)
    assert (found["finding"], found["first_wrong_call"]) == ("engine.cache_mutated", "2")
    assert found["surplus_tokens"] == 51
    assert len(found["wrong_calls"]) == 1
    assert "+51 tokens of other content" in _run(log, code=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--capacity", "2blocks", "--block-size", 16),
            "a capacity of 2 blocks (32 tokens) cannot hold request 'r1' of 104 tokens",
        ),
        (("--block-size", 0), "'0' is no block size"),
        (("--ttl", "soon"), "'soon' is not a duration"),
        (("--capacity", "64GiB"), "needs the size of a token"),
        (("--engine", "vllm", "--page-size", 4, "--num-gpu-blocks", 9), "--page-size is an option of sglang"),
        (("--engine", "sglang", "--gpu-memory", "80GiB"), "is an option of vllm"),
        (("--engine", "vllm", "--capacity", "9blocks"), "has options of its own"),
        (("--engine", "tgi"), "'tgi' is no engine"),
        (("--num-gpu-blocks", 9), "name it with --engine"),
        (("--policy", "fifo", "--engine", "vllm"), "answer different questions"),
        (("--policy", "mru"), "'mru' is not a policy"),
        (("--policy", "fifo", "--block-size", "16,32"), "one configuration has one --block-size"),
        (("--ttl-from", "creation"), "give the lifetime with --ttl"),
        (("--tier", "cpu"), "'cpu' is no tier"),
        (("--policy", "priority", "--priority", "tenant"), "'tenant' is no priority"),
        (("--replica-change", "noon=leave:1"), "no coming or going"),
        (("--what-if", "automatic"), "name the provider"),
        (("--model", "gpt-9"), "no model in the catalogue"),
        (("--model", "qwen3-8b", "--kv-bytes-per-token", 9), "say the same thing"),
        (("--fail-below", 2), "is no ratio"),
        (("--calibration", "x.json"), "x.json: cannot read the calibration"),
        (("--compare", "missing.json"), "cannot read missing.json"),
        (("--engine", "vllm", "-E", "blocks"), "is no engine option"),
    ],
)
def test_bad_settings_get_one_sentence(log: Path, words: tuple[object, ...], message: str):
    output = " ".join(_run(log, *words, "-q", code=2).split())
    assert message in output
    assert output.count("pcache:") == 1


def test_a_hash_trace_is_not_cut_across_its_blocks(tmp_path: Path):
    rows = [
        {"timestamp": n, "input_length": 1500, "output_length": 5, "hash_ids": [1, 2, 3]} for n in range(2)
    ]
    trace = _write(tmp_path / "hashes.jsonl", rows)
    assert "neither divides nor is a multiple of 512" in _run(trace, "--block-size", 100, code=2)
    assert _json(trace)["sweep"]["sizes"][0]["block_size"] == 512
    result = CliRunner().invoke(app, ["simulate", str(trace), "--block-size", "16"])
    assert "lower bound" in result.stderr


def test_lifetimes_need_times(untimed: Path):
    assert "no time" in _run(untimed, "--ttl", "5m", "-q", code=3)
    assert _json(untimed)["sweep"]["reuse_interval_s"] is None


def test_usage_without_prompts_cannot_be_simulated(tmp_path: Path):
    row = {"id": "r1", "model": "gpt-5", "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    log = _write(tmp_path / "usage.jsonl", [row])
    assert "holds no prompts" in _run(log, "-q", code=3)


def test_a_provider_without_rules_has_unknown_figures_without_a_mark(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    body = {"messages": [{"role": "user", "content": "hello"}], "timestamp": "2026-10-05T10:00:00Z"}
    rows = [
        {"id": "known", "model": "gpt-4.1", **body},
        {"id": "lost", "model": "nobody-1", "provider": "nobody", **body},
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = CliRunner().invoke(app, ["simulate", str(log), "--provider", "auto", "-q"])
    line = next(line for line in result.stdout.splitlines() if line.startswith("lost"))
    assert line.split()[1:6] == ["unknown"] * 5


def test_a_what_if_says_what_it_costs_or_that_this_is_unknown(tmp_path: Path) -> None:
    sample = Path(__file__).resolve().parents[2] / "sample_logs" / "coding_agent_markers.jsonl"
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "name: anthropic\ntitle: Anthropic\nas_of: 2026-11-29\nproviders: []\nmodels: []\n"
        "sources: {us: {title: measured, confidence: C}}\n"
        "facts: {minimum_tokens: [{value: 512, models: [nobody-*], source: us}]}\n"
    )

    def first_line(change: str, *more: str) -> str:
        words = ["simulate", str(sample), "--provider", "anthropic", "--what-if", change, "-q", *more]
        return " ".join(CliRunner().invoke(app, words).stdout.split("Note:")[0].split())

    assert "The cost is $0.05073 instead of $0.04683." in first_line("ttl=1h")
    assert "The cost is unknown instead of $0.04683." in first_line(
        "model=nobody-sells-this", "--rules", str(rules)
    )


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """300 requests of 30 conversations, each turn sending the history again."""
    rows: list[dict[str, object]] = []
    for turn in range(10):
        for c in range(30):
            tokens = [*SHARED_PREFIX, *range(1000 * c + 1000, 1000 * c + 1000 + 7 * (turn + 1) + c)]
            rows.append({"id": f"c{c}t{turn}", "timestamp": 1_790_000_000 + len(rows), "tokens": tokens})
    return _write(tmp_path / "talk.jsonl", rows)


def test_a_sample_marks_everything_as_an_estimate(talk: Path, tmp_path: Path):
    exact, found = _json(talk, "--block-size", 1), _json(talk, "--block-size", 1, "--sample", 0.3)
    account = found["sweep"]["sample"]
    assert account["rate"] == 0.3
    assert 0.15 < account["kept_records"] / account["records"] < 0.45
    assert exact["sweep"]["sample"] is None
    (size,), (whole,) = found["sweep"]["sizes"], exact["sweep"]["sizes"]
    assert size["ceiling_tokens"] == whole["ceiling_tokens"]
    assert whole["hit_error_tokens"] is None
    largest = max(max(row) for row in [*size["hit_error_tokens"], size["unbounded_error_tokens"]])
    assert found["figures"]["error_ratio"] == largest / found["figures"]["prompt_tokens"] > 0
    assert "error_ratio" not in exact["figures"]
    text = " ".join(_run(talk, "--sample", 0.3, "-o", tmp_path / "grid.csv").split())
    assert "Sampled at 1 in 3.33: an estimate, ±" in text
    assert " % ± " in text
    assert int(_table(tmp_path / "grid.csv")[0]["hit_error_tokens"]) > 0


def test_one_point_of_a_sample_is_an_estimate_too(talk: Path):
    words = (talk, "--block-size", 1, "--capacity", "5000tokens", "--ttl", "none")
    exact, found = _json(*words), _json(*words, "--sample", 0.3)
    (size,) = found["sweep"]["sizes"]
    assert abs(size["hit_tokens"][0][0] - exact["hit_tokens"]) <= size["hit_error_tokens"][0][0]


def test_the_same_sample_gives_the_same_bytes(talk: Path):
    words = (talk, "--sample", 0.3, "--json", "-q")
    assert _run(*words) == _run(*words)
    assert _run(*words, "--seed", 1) != _run(*words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--engine", "vllm", "--num-gpu-blocks", 99), "--engine has no stack distances to sample"),
        (("--provider", "auto"), "--provider has no stack distances to sample"),
        (("--policy", "lfu"), "a replay has no stack distances to sample"),
        (("--tier", "cpu=4096blocks"), "a replay has no stack distances to sample"),
        (("--sample", 0), "a sample of 0 is not possible"),
    ],
)
def test_what_cannot_be_sampled_is_said(talk: Path, words: tuple[object, ...], sentence: str):
    assert sentence in " ".join(_run(talk, "--sample", 0.3, *words, code=2).split())


def test_a_sample_that_keeps_all_is_not_called_an_estimate(talk: Path):
    shown = " ".join(_run(talk, "--sample", 0.999999).split())
    assert "touch records: this is exact." in shown
    assert "an estimate" not in shown


def test_a_sample_too_small_to_judge_by_is_no_answer(talk: Path):
    assert "too few to judge the estimate by" in _run(talk, "--sample", 0.001, code=3)


def test_a_gate_within_the_error_is_not_decided(talk: Path):
    words = (talk, "--block-size", 1, "--sample", 0.3)
    found = _json(*words)["figures"]
    best, error = found["block_1.best_ratio"], found["block_1.best_error_ratio"]
    assert "too close" in _run(*words, "--fail-below", best - error / 2, code=3)
    _run(*words, "--fail-below", best - 1.1 * error)
    _run(*words, "--fail-below", min(best + 1.1 * error, 1.0), code=1)
