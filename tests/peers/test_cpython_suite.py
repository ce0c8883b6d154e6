"""CPython 3.15's own tests of its unwinder, sampler, files and collectors, run
with ours.

Each module of Debian's libpython3.15-testsuite runs in a process of its own
(cpython_suite/run_module.py) with classes on pyrec, libpyrec or pyconv in the
place of CPython's.
A test that does not apply is skipped by name, with the reason.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live

FOLDER = os.path.join(os.environ["SRC"], "tests", "peers", "cpython_suite")
SUITE = os.environ.get("PYREC_TESTSUITE")
SAMPLER = "test.test_profiling.test_sampling_profiler."

STATISTICS = "pyrec has no statistics of a single call"
LIMIT = "pyrec reads stacks that are deeper than CPython's limit"
WHOLE = "pyrec keeps long names and line tables whole"
ORDER = "CPython lists tasks from the newest on, pyrec by address"
OWN = "the test starts CPython's own command line"
LOAD = "its share of samples depends on the load: 99 % alone, 81 % under 19"
WORDS = "the test compares the words of CPython's message"
TABLES = "pyrec checks the tables of names when it opens a file"
BATCHES = "a reader is free to choose how many samples it passes at once"
REGULAR = "pyrec writes only to a regular file"
UNREAD = "the test reads no file"
HEADER = "the header counts samples that the file lacks: pyconv exits with 3"
PATHS = "the test passes Python objects as paths; pyconv takes names"
SURROGATE = "CPython's writer refuses a name with a lone surrogate, and its " \
    "reader shows three U+FFFD for one, as pyconv --style stock does"

DAMAGED_FILES = {
    "TestBinaryFormatValidation."
    "test_open_accepts_frame_count_at_capacity_boundary": TABLES,
    "TestBinaryFormatValidation."
    "test_open_rejects_frame_count_larger_than_file": WORDS,
    "TestBinaryFormatValidation."
    "test_open_rejects_string_count_larger_than_file": WORDS,
    "TestBinaryFormatValidation."
    "test_replay_rejects_more_threads_than_declared": WORDS,
    "TestBinaryFormatValidation.test_replay_rejects_sample_count_mismatch":
        WORDS,
    "TestBinaryFormatValidation."
    "test_replay_rejects_trailing_partial_sample_header": TABLES,
}
NO_FILES = {
    "TestBinaryEdgeCases.test_collector_does_not_swallow_unrelated_overflow":
        UNREAD,
    "TestBinaryEdgeCases.test_finalize_failure_breaks_writer": UNREAD,
    "TestBinaryEdgeCases."
    "test_writer_total_samples_after_close_returns_zero": UNREAD,
}

# (module, shims, {name of a test that does not apply: reason}, patterns of the
# tests that use the shims; without one, all do)
MODULES = [
    ("test.test_external_inspection", "unwinder", {
        "TestFrameCaching.test_get_stats": STATISTICS,
        "TestFrameCaching.test_get_stats_disabled_raises": STATISTICS,
        "TestFrameChainLimits.test_get_all_awaited_by_deep_coro_chain_aborts":
            LIMIT,
        "TestFrameChainLimits."
        "test_get_async_stack_trace_deep_frame_chain_aborts": LIMIT,
        "TestFrameChainLimits."
        "test_get_async_stack_trace_deep_task_waiter_chain_aborts": LIMIT,
        "TestFrameChainLimits.test_get_stack_trace_deep_frame_chain_aborts":
            LIMIT,
        "TestGetStackTrace.test_async_global_awaited_by": ORDER,
        "TestMetadataDegradation.test_long_filename_truncated": WHOLE,
        "TestMetadataDegradation.test_long_qualname_truncated_not_dropped":
            WHOLE,
        "TestMetadataDegradation."
        "test_oversized_linetable_degrades_to_no_location": WHOLE,
        "TestSelfStackTrace.test_long_task_name_is_truncated": WHOLE,
    }),
    ("test.test_gc_stats", "unwinder", {}),
    (SAMPLER + "test_modes", "unwinder,sampling", {}),
    (SAMPLER + "test_integration", "unwinder,sampling", {
        "TestAsyncAwareProfilingIntegration."
        "test_async_aware_running_sees_only_cpu_task": LOAD,
        "TestSampleProfilerErrorHandling.test_script_error_treatment": OWN,
    }),
    (SAMPLER + "test_advanced", "unwinder,sampling", {
        "TestProcessPoolExecutorSupport.test_process_pool_executor_pickle":
            OWN,
    }),
    (SAMPLER + "test_blocking", "unwinder,sampling", {}),
    (SAMPLER + "test_children", "unwinder,sampling", {
        "TestEndToEndChildrenCLI."
        "test_subprocesses_flag_no_crash_on_quick_child": OWN,
        "TestEndToEndChildrenCLI."
        "test_subprocesses_flag_spawns_child_and_creates_output": OWN,
        "TestEndToEndChildrenCLI."
        "test_subprocesses_flag_with_flamegraph_output": OWN,
    }),
    (SAMPLER + "test_binary_format", "reader,from_zero", {
        **DAMAGED_FILES,
        **NO_FILES,
        "TestBinaryEncodings.test_rle_long_run_splits_batches": BATCHES,
    }),
    (SAMPLER + "test_binary_format", "writer,from_zero", {
        "TestBinaryEdgeCases.test_finalize_failure_breaks_writer": REGULAR,
    }),
    (SAMPLER + "test_binary_format", "converted,from_zero", {
        **DAMAGED_FILES,
        **NO_FILES,
        "TestBinaryEdgeCases.test_invalid_path_error_preserves_pathlib": PATHS,
        "TestBinaryEdgeCases.test_rejects_non_pathlike": PATHS,
        "TestBinaryEncodings.test_rle_long_run_splits_batches": BATCHES,
        "TestBinaryFormatValidation.test_sample_count_boundary_values": HEADER,
        "TestBinaryFormatValidation.test_sample_count_reads_full_64_bits":
            HEADER,
    }),
    (SAMPLER + "test_collectors", "collectors", {
        "TestSampleProfilerComponents."
        "test_collapsed_stack_collector_export_non_ascii_names": SURROGATE,
    }, "*.test_pstats_*", "*.test_collapsed_*", "*.test_collectors_ignore_*"),
]


def run(module, shims, patterns):
    """One result a test: that of a failed subtest, if one failed."""
    done = subprocess.run(
        [live.STOCK, os.path.join(FOLDER, "run_module.py"), shims, module,
         *patterns],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        timeout=800)
    results = map(json.loads, done.stdout.splitlines())
    return {result["name"]: result for result in results}.values()


def kind_of(result):
    """The type of the exception that a test failed with."""
    return result["why"].strip().rpartition("\n")[2].partition(":")[0]


def fails_twice(module, shims, result):
    """Tests of a running process have limits of time and numbers of samples of
    their own, which a busy machine may not meet: one that failed is run alone,
    as CPython's own runner does (regrtest --rerun), and must fail alike."""
    if shims.split(",")[0] != "unwinder":
        return True
    print("# run again: %s\n%s" % (result["name"], result["why"]))
    second = list(run(module, shims, ["*." + result["name"]]))
    return not second or any(
        each["outcome"] == "failed" and kind_of(each) == kind_of(result)
        for each in second)


def report(module, shims, excused, *patterns):
    short = "%s on %s" % (module.rsplit(".", 1)[1], shims.split(",")[0])
    count = 0
    for result in run(module, shims, patterns):
        name = "%s: %s" % (short, result["name"])
        reason = excused.get(result["name"])
        if reason or result["outcome"] == "skipped":
            print("ok %s # SKIP %s" % (name, reason or result["why"]),
                  flush=True)
        elif result["outcome"] == "ok" or not fails_twice(module, shims,
                                                          result):
            print("ok %s" % name, flush=True)
        else:
            print(result["why"])
            print("not ok %s" % name, flush=True)
        count += 1
    if not count:
        print("not ok %s: no test ran" % short, flush=True)


if not live.STOCK or not SUITE:
    print("ok CPython's own tests # SKIP no libpython3.15-testsuite here")
else:
    for arguments in MODULES:
        if not sys.argv[1:] or any(word in arguments[0]
                                   for word in sys.argv[1:]):
            report(*arguments)
