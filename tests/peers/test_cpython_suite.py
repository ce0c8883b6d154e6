"""CPython 3.15's own tests of its unwinder and sampler, run with ours.

Each module of Debian's libpython3.15-testsuite runs in a process of its own
(cpython_suite/run_module.py) with classes on pyrec in the place of CPython's.
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

# (module, shims, {name of a test that does not apply: reason})
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
]


def run(module, shims):
    done = subprocess.run(
        [live.STOCK, os.path.join(FOLDER, "run_module.py"), shims, module],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        timeout=800)
    return [json.loads(line) for line in done.stdout.splitlines()]


def report(module, shims, excused):
    short = module.rsplit(".", 1)[1]
    count = 0
    for result in run(module, shims):
        name = "%s: %s" % (short, result["name"])
        reason = excused.get(result["name"])
        if result["outcome"] == "ok":
            print("ok %s" % name, flush=True)
        elif reason or result["outcome"] == "skipped":
            print("ok %s # SKIP %s" % (name, reason or result["why"]),
                  flush=True)
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
