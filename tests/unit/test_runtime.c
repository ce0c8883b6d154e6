/*
 * test_runtime.c - find the runtime in real processes.
 *
 * The interpreters come from PYREC_PYTHON_311 ... PYREC_PYTHON_315 and
 * PYREC_PYTHON_313T (tests/setup/interpreters.sh); a test for which there is
 * none is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pyrec/unwinder.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/cpython/runtime.h"

static const char *const versions[] = {"PYREC_PYTHON_311", "PYREC_PYTHON_312",
                                       "PYREC_PYTHON_313", "PYREC_PYTHON_314",
                                       "PYREC_PYTHON_315", "PYREC_PYTHON_313T"};
enum { N_VERSIONS = sizeof versions / sizeof *versions };

/* A program that prints one line and waits until its input ends. */
typedef struct program {
    pid_t pid;
    int in;
    char line[256];
} program;

static program
run(const char *const argv[])
{
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    program p = {fork(), in[1], ""};
    assert_true(p.pid >= 0);
    if (p.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], 0);
        dup2(out[1], 1);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    FILE *from = fdopen(out[0], "r");
    assert_non_null(from);
    assert_non_null(fgets(p.line, sizeof p.line, from));
    p.line[strcspn(p.line, "\n")] = '\0';
    fclose(from);
    return p;
}

static void
stop(program *p)
{
    close(p->in);
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
}

#define WAIT "import sys; sys.stdout.flush(); sys.stdin.read()"

static program
start_python(const char *python, const char *text)
{
    const char *argv[] = {python, "-c", text, NULL};
    return run(argv);
}

static rec_target
expect_python(pid_t pid)
{
    rec_target target;
    pr_err err = PR_ERR_INIT;
    if (rec_target_identify(pid, &target, &err) != PR_OK)
        fail_msg("%s", err.what);
    return target;
}

static void
each_interpreter_is_recognized_by_its_own_version(void **state)
{
    (void)state;
    int seen = 0;
    for (size_t i = 0; i < N_VERSIONS; i++) {
        const char *python = getenv(versions[i]);
        if (!python || !*python)
            continue;
        program p = start_python(
            python,
            "import sys, sysconfig;"
            "print('%d.%d.%d' % sys.version_info[:3],"
            " bool(sysconfig.get_config_var('Py_GIL_DISABLED')));" WAIT);
        rec_target t = expect_python(p.pid);
        char text[64];
        snprintf(text, sizeof text, "%u.%u.%u %s", t.python[0], t.python[1],
                 t.python[2], t.free_threaded ? "True" : "False");
        assert_string_equal(text, p.line);
        stop(&p);
        seen++;
    }
    if (!seen)
        skip();
}

static void
the_place_of_each_threads_cpu_is_found(void **state)
{
    (void)state;
    int seen = 0;
    for (size_t i = 0; i < N_VERSIONS; i++) {
        const char *python = getenv(versions[i]);
        if (!python || !*python)
            continue;
        program p = start_python(
            python, "import platform; print(platform.libc_ver()[1]);" WAIT);
        rec_process process;
        rec_memory memory;
        rec_runtime runtime;
        assert_int_equal(rec_process_open(p.pid, &process, NULL), PR_OK);
        rec_memory_init(&memory, p.pid);
        assert_int_equal(rec_runtime_find(&process, &memory, &runtime, NULL),
                         PR_OK);
        unsigned minor = 0;
        if (sscanf(p.line, "2.%u", &minor) == 1 && minor >= 35)
            assert_int_not_equal(runtime.rseq_offset, 0);
        rec_memory_release(&memory);
        rec_process_release(&process);
        stop(&p);
        seen++;
    }
    if (!seen)
        skip();
}

static void
a_program_that_is_not_python_is_named(void **state)
{
    (void)state;
    const char *argv[] = {"sh", "-c", "echo ready; read x", NULL};
    program p = run(argv);
    rec_target target;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_target_identify(p.pid, &target, &err), PR_NOT_PYTHON);
    char text[64];
    snprintf(text, sizeof text, "process %d is sh, not a CPython", (int)p.pid);
    assert_string_equal(err.what, text);
    stop(&p);
}

/* An interpreter that need not be started by a script. */
static const char *
any_python(void)
{
    const char *python = getenv("PYREC_PYTHON_311");
    return python && *python ? python : NULL;
}

static void
the_python_children_of_a_shell_are_named(void **state)
{
    (void)state;
    const char *python = any_python();
    if (!python)
        skip();
    const char *argv[] = {
        "sh", "-c",
        "\"$0\" -c 'import os; print(os.getpid());" WAIT "'; :", python, NULL};
    program p = run(argv);
    rec_process process;
    rec_memory memory;
    rec_runtime runtime;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_process_open(p.pid, &process, NULL), PR_OK);
    rec_memory_init(&memory, p.pid);
    assert_int_equal(rec_runtime_find(&process, &memory, &runtime, &err),
                     PR_NOT_PYTHON);
    static const char start[] = "its Python children: ";
    assert_memory_equal(err.hint, start, sizeof start - 1);
    assert_string_equal(err.hint + sizeof start - 1, p.line);
    rec_memory_release(&memory);
    rec_process_release(&process);
    kill((pid_t)atoi(p.line), SIGKILL);
    stop(&p);
}

/* A copy of the interpreter under a name that does not say Python, then
 * deleted, then another file in its place. */
static void
a_renamed_deleted_and_replaced_executable_is_recognized(void **state)
{
    (void)state;
    const char *python = any_python();
    if (!python)
        skip();
    program p =
        start_python(python, "import os, shutil, sys, tempfile;"
                             "d = tempfile.mkdtemp();"
                             "e = os.path.realpath(sys.executable);"
                             "shutil.copy(e, d + '/server');"
                             "os.environ['PYTHONHOME'] = sys.base_prefix;"
                             "os.execv(d + '/server', [d + '/server', '-c',"
                             " 'import sys; print(sys.executable);" WAIT "'])");
    if (!strstr(p.line, "/server"))
        fail_msg("started as '%s'", p.line);
    rec_target before = expect_python(p.pid);
    assert_int_equal(unlink(p.line), 0);
    rec_target without = expect_python(p.pid);
    assert_int_equal(without.runtime, before.runtime);
    assert_string_equal(without.runtime_path, before.runtime_path);
    FILE *other = fopen(p.line, "w");
    assert_non_null(other);
    fputs("#!/bin/sh\n", other);
    fclose(other);
    rec_target replaced = expect_python(p.pid);
    assert_int_equal(replaced.runtime, before.runtime);
    unlink(p.line);
    *strrchr(p.line, '/') = '\0';
    assert_int_equal(rmdir(p.line), 0);
    stop(&p);
}

/* ctypes loads a second libpython, in which no interpreter was ever made. */
static void
a_second_libpython_is_not_taken(void **state)
{
    (void)state;
    int seen = 0;
    for (size_t i = 0; i < N_VERSIONS; i++) {
        const char *python = getenv(versions[i]);
        if (!python || !*python)
            continue;
        program p = start_python(
            python,
            "import ctypes, os, shutil, sysconfig, tempfile\n"
            "v = sysconfig.get_config_var\n"
            "lib = '%s/%s' % (v('LIBDIR'), v('INSTSONAME'))\n"
            "if v('Py_ENABLE_SHARED') and os.path.exists(lib):\n"
            "    d = tempfile.mkdtemp()\n"
            "    copy = shutil.copy(lib, d + '/aaa-libpython.so')\n"
            "    h = ctypes.CDLL(copy)\n"
            "    shutil.rmtree(d)\n"
            "    r = ctypes.addressof(ctypes.c_char.in_dll(h, '_PyRuntime'))\n"
            "    print('second', r)\n"
            "else:\n"
            "    print('none')\n" WAIT);
        unsigned long long second;
        if (sscanf(p.line, "second %llu", &second) == 1) {
            rec_target t = expect_python(p.pid);
            assert_int_not_equal(t.runtime, second);
            seen++;
        }
        stop(&p);
    }
    if (!seen)
        skip();
}

static void
the_section_of_asyncio_is_there_once_it_is_imported(void **state)
{
    (void)state;
    const char *python = getenv("PYREC_PYTHON_314");
    if (!python || !*python)
        skip();
    program p = start_python(python, "import asyncio; print(1);" WAIT);
    rec_process process;
    uint64_t address = 0, size = 0;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_process_open(p.pid, &process, NULL), PR_OK);
    assert_int_equal(
        rec_runtime_section(&process, ".AsyncioDebug", &address, &size, &err),
        PR_OK);
    assert_int_equal(size, 13 * 8);
    assert_int_equal(
        rec_runtime_section(&process, ".NoSuch", &address, &size, &err),
        PR_NAME);
    rec_process_release(&process);
    stop(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_interpreter_is_recognized_by_its_own_version),
        cmocka_unit_test(the_place_of_each_threads_cpu_is_found),
        cmocka_unit_test(a_program_that_is_not_python_is_named),
        cmocka_unit_test(the_python_children_of_a_shell_are_named),
        cmocka_unit_test(
            a_renamed_deleted_and_replaced_executable_is_recognized),
        cmocka_unit_test(a_second_libpython_is_not_taken),
        cmocka_unit_test(the_section_of_asyncio_is_there_once_it_is_imported),
    };
    return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
