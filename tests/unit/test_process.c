/*
 * test_process.c - the kernel's facts about a process: this one, children.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <pyrec/unwinder.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eventually.h"
#include "recorder/linux/memory.h"
#include "recorder/linux/process.h"
#include "recorder/linux/procfs.h"

/* ---- children that wait for a byte ---- */

typedef struct helper {
    pid_t pid;
    int hold; /* closing it ends the child */
} helper;

typedef void (*helper_fn)(void);

/* A child that does `first`, says so, and waits. */
static helper
start_helper(helper_fn first)
{
    int ready[2], hold[2];
    char byte;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    helper h = {fork(), hold[1]};
    assert_true(h.pid >= 0);
    if (h.pid == 0) {
        close(hold[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (first)
            first();
        if (write(ready[1], "r", 1) == 1 && read(hold[0], &byte, 1) == 1)
            execlp("sleep", "sleep", "600", (char *)NULL);
        _exit(1);
    }
    close(ready[1]);
    close(hold[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return h;
}

static void
end_helper(helper *h)
{
    kill(h->pid, SIGKILL);
    waitpid(h->pid, NULL, 0);
    close(h->hold);
}

/* ---- memory of the parent ---- */

static int answer[2], again[2];

/* The child of vfork() says its pid and keeps its parent waiting. */
static void
be_in_vfork(void)
{
    char byte;
    pid_t child = vfork();
    if (child == 0) {
        pid_t self = getpid();
        if (write(answer[1], &self, sizeof self) == sizeof self &&
            read(again[0], &byte, 1) == 1)
            execlp("sleep", "sleep", "600", (char *)NULL);
        _exit(1);
    }
}

static void
be_a_parent(void)
{
    pid_t child = fork();
    if (child == 0) {
        pid_t self = getpid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (write(answer[1], &self, sizeof self) == sizeof self)
            pause();
        _exit(1);
    }
}

/* A helper whose child has said its pid. */
static pid_t
start_parent(helper_fn first, pid_t *ret_child)
{
    assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
    assert_int_equal(pipe2(again, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        first();
        pause();
    }
    assert_int_equal(read(answer[0], ret_child, sizeof *ret_child),
                     sizeof *ret_child);
    return pid;
}

static void
end_parent(pid_t parent, pid_t child)
{
    kill(child, SIGKILL);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (int i = 0; i < 2; i++) {
        close(answer[i]);
        close(again[i]);
    }
}

static void
a_child_of_vfork_is_no_target_until_it_executes_a_program(void **state)
{
    (void)state;
    pid_t pid[2];
    rec_process p;
    pr_err err = PR_ERR_INIT;
    pid[0] = start_parent(be_in_vfork, &pid[1]);
    assert_true(rec_process_shares_memory(pid[1], pid[0]));
    assert_false(rec_process_shares_memory(pid[0], getpid()));
    EVENTUALLY(rec_process_is_in_vfork(pid[0]));
    assert_int_equal(rec_process_open(pid[1], &p, &err), PR_NOT_PYTHON);
    assert_non_null(strstr(err.what, "shares the memory of its parent"));
    assert_int_equal(rec_process_open(pid[0], &p, NULL), PR_OK);
    rec_process_release(&p);
    assert_int_equal(write(again[1], "x", 1), 1);
    EVENTUALLY(!rec_process_shares_memory(pid[1], pid[0]));
    assert_int_equal(rec_process_open(pid[1], &p, NULL), PR_OK);
    rec_process_release(&p);
    assert_false(rec_process_is_in_vfork(pid[0]));
    end_parent(pid[0], pid[1]);
}

static void
a_child_of_fork_has_memory_of_its_own(void **state)
{
    (void)state;
    pid_t child, parent = start_parent(be_a_parent, &child);
    assert_false(rec_process_shares_memory(child, parent));
    assert_false(rec_process_is_in_vfork(parent));
    end_parent(parent, child);
}

static void
this_process_is_alive_and_its_threads_are_listed(void **state)
{
    (void)state;
    rec_process p;
    pid_t *tids;
    size_t n;
    assert_int_equal(rec_process_open(getpid(), &p, NULL), PR_OK);
    assert_true(p.start_time > 0);
    assert_true(p.has_random);
    assert_int_equal(rec_process_check(&p), REC_ALIVE);
    assert_int_equal(rec_process_threads(p.pid, &tids, &n, NULL), PR_OK);
    assert_int_equal(n, 1);
    assert_int_equal(tids[0], getpid());
    assert_int_equal(rec_process_host_tid(&p, (uint64_t)getpid()), getpid());
    free(tids);
    rec_process_release(&p);
}

static void
expect_none(pid_t pid, const char *word)
{
    rec_process p;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_process_open(pid, &p, &err), PR_NO_PROCESS);
    if (!strstr(err.what, word))
        fail_msg("'%s' does not say '%s'", err.what, word);
}

static void
a_pid_without_a_process_is_named(void **state)
{
    (void)state;
    expect_none(-1, "no process -1");
    expect_none(0, "no process 0");
    expect_none(4194304, "no process 4194304"); /* PID_MAX_LIMIT */
}

static void
a_zombie_has_ended(void **state)
{
    (void)state;
    helper h = start_helper(NULL);
    rec_process p;
    siginfo_t info;
    assert_int_equal(rec_process_open(h.pid, &p, NULL), PR_OK);
    kill(h.pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)h.pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(rec_process_check(&p), REC_ENDED);
    expect_none(h.pid, "has ended");
    rec_process without = p;
    without.pidfd = -1; /* as on kernels before 5.3 */
    assert_int_equal(rec_process_check(&without), REC_ENDED);
    rec_process_release(&p);
    end_helper(&h);
}

static void
a_name_may_look_like_a_stat_line(void)
{
    prctl(PR_SET_NAME, "a) Z 1\n(b) X 3");
}

static void
the_name_of_a_process_does_not_confuse(void **state)
{
    (void)state;
    helper h = start_helper(a_name_may_look_like_a_stat_line);
    rec_process p;
    char name[32];
    pr_err err = PR_ERR_INIT;
    if (rec_process_open(h.pid, &p, &err) != PR_OK)
        fail_msg("%s", err.what);
    assert_int_equal(rec_process_check(&p), REC_ALIVE);
    rec_procfs_name(h.pid, name, sizeof name);
    assert_string_equal(name, "a) Z 1\n(b) X 3");
    rec_process_release(&p);
    end_helper(&h);
}

static void
another_program_under_the_same_pid_is_noticed(void **state)
{
    (void)state;
    helper h = start_helper(NULL);
    rec_process p;
    assert_int_equal(rec_process_open(h.pid, &p, NULL), PR_OK);
    assert_int_equal(rec_process_check(&p), REC_ALIVE);
    assert_int_equal(write(h.hold, "x", 1), 1);
    EVENTUALLY(rec_process_check(&p) == REC_EXECED);
    assert_int_equal(rec_process_renew(&p, NULL), PR_OK);
    assert_int_equal(rec_process_check(&p), REC_ALIVE);
    end_helper(&h);
    assert_int_equal(rec_process_check(&p), REC_ENDED);
    rec_process_release(&p);
}

static void *
emit_tid(void *to)
{
    int *pipes = to;
    pid_t tid = (pid_t)syscall(SYS_gettid);
    char byte;
    (void)!write(pipes[1], &tid, sizeof tid);
    (void)!read(pipes[2], &byte, 1);
    return NULL;
}

static void
a_thread_is_not_a_process(void **state)
{
    (void)state;
    int pipes[4]; /* its id, the order to end */
    pthread_t thread;
    pid_t tid;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(pipe(pipes + 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, emit_tid, pipes), 0);
    assert_int_equal(read(pipes[0], &tid, sizeof tid), sizeof tid);
    rec_process p;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_process_open(tid, &p, &err), PR_NO_PROCESS);
    char hint[32];
    snprintf(hint, sizeof hint, "use -p %d", (int)getpid());
    assert_string_equal(err.hint, hint);
    close(pipes[3]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++)
        close(pipes[i]);
}

static void
a_thread_of_the_kernel_is_named(void **state)
{
    (void)state;
    char name[32];
    rec_procfs_name(2, name, sizeof name);
    if (strcmp(name, "kthreadd") != 0)
        skip(); /* a pid namespace of our own */
    rec_process p;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_process_open(2, &p, &err), PR_NOT_PYTHON);
    assert_non_null(strstr(err.what, "thread of the kernel"));
}

static bool
contains(const pid_t *v, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] == pid)
            return true;
    return false;
}

static void
fork_once_more(void)
{
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("sleep", "sleep", "600", (char *)NULL);
        _exit(1);
    }
}

static void
children_and_their_children_are_found(void **state)
{
    (void)state;
    helper h = start_helper(fork_once_more);
    pid_t *near, *all, *below;
    size_t n_near, n_all, n_below;
    assert_int_equal(rec_target_children(getpid(), 0, &near, &n_near, NULL),
                     PR_OK);
    assert_int_equal(rec_target_children(getpid(), 1, &all, &n_all, NULL),
                     PR_OK);
    assert_int_equal(rec_target_children(h.pid, 0, &below, &n_below, NULL),
                     PR_OK);
    assert_true(contains(near, n_near, h.pid));
    assert_int_equal(n_below, 1);
    assert_false(contains(near, n_near, below[0]));
    assert_true(contains(all, n_all, below[0]));
    assert_true(contains(all, n_all, h.pid));
    kill(below[0], SIGKILL);
    free(near);
    free(all);
    free(below);
    end_helper(&h);
}

/* ---- memory ---- */

static void
missing_memory_differs_from_a_missing_process(void **state)
{
    (void)state;
    rec_memory m;
    uint64_t value = 42, copy = 0;
    rec_memory_init(&m, getpid());
    assert_int_equal(rec_memory_read(&m, (uint64_t)(uintptr_t)&value, &copy,
                                     sizeof copy, NULL),
                     PR_OK);
    assert_int_equal(copy, 42);
    assert_int_equal(rec_memory_read(&m, 8, &copy, sizeof copy, NULL), PR_TORN);
    assert_int_equal(m.reads, 2);
    assert_int_equal(m.bytes, sizeof copy);
    rec_memory_release(&m);
    rec_memory_init(&m, 4194304);
    assert_int_equal(rec_memory_read(&m, 8, &copy, sizeof copy, NULL),
                     PR_NO_PROCESS);
}

enum { MANY = REC_MAX_PIECES * 2 + 7 };

static void
read_many(rec_memory *m)
{
    static uint32_t from[MANY], to[MANY];
    static struct iovec local[MANY], remote[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        from[i] = i * 7;
        to[i] = 0;
        local[i] = (struct iovec){&to[i], sizeof to[i]};
        remote[i] = (struct iovec){&from[i], sizeof from[i]};
    }
    assert_int_equal(rec_memory_readv(m, local, remote, MANY), sizeof to);
    assert_memory_equal(from, to, sizeof to);
    /* all that precedes a hole arrives */
    remote[1500].iov_base = NULL;
    assert_int_equal(rec_memory_readv(m, local, remote, MANY),
                     1500 * sizeof *to);
    assert_int_equal(rec_memory_readv(m, local + 1500, remote + 1500, 3),
                     -EFAULT);
}

static void
more_pieces_than_one_call_takes_are_read(void **state)
{
    (void)state;
    rec_memory m;
    rec_memory_init(&m, getpid());
    read_many(&m);
    rec_memory_release(&m);
}

/* From now on process_vm_readv() fails with `error`. */
static bool
refuse_readv(uint32_t error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Read by /proc/PID/mem in a process under the filter: 0, or what failed. */
static int
read_refused(uint32_t error)
{
    enum { NO_FILTER = 77 };
    if (!refuse_readv(error))
        return NO_FILTER;
    rec_memory m, clone;
    uint64_t value = 42, copy = 0;
    rec_memory_init(&m, getpid());
    if (rec_memory_read(&m, (uint64_t)(uintptr_t)&value, &copy, sizeof copy,
                        NULL) != PR_OK ||
        copy != 42 || m.mem_fd < 0)
        return 1;
    if (rec_memory_read(&m, 8, &copy, sizeof copy, NULL) != PR_TORN)
        return 2;
    rec_memory_clone(&m, &clone);
    if (clone.mem_fd == m.mem_fd || clone.reads != 0)
        return 3;
    read_many(&clone);
    rec_memory_release(&clone);
    rec_memory_release(&m);
    return 0;
}

static void
where_the_call_is_refused_the_file_is_read(void **state)
{
    (void)state;
    const uint32_t errors[] = {ENOSYS, EPERM};
    for (size_t i = 0; i < 2; i++) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(read_refused(errors[i]));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
            skip(); /* no filters on this kernel */
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* ---- permissions ---- */

enum { NOBODY = 65534 };

/* As another user: 0 if the refusal was explained. */
static int
try_as_nobody(pid_t pid)
{
    rec_process p;
    pr_err err = PR_ERR_INIT;
    if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
        return 1;
    if (rec_process_open(pid, &p, &err) != PR_DENIED)
        return 2;
    if (strstr(err.what, "belongs to user 0 ") && err.hint[0])
        return 0;
    print_message("%s\n", err.what);
    return 3;
}

static void
the_process_of_another_user_is_denied_with_the_reason(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* we cannot become another user */
    int status;
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(try_as_nobody(parent));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void
become_undumpable(void)
{
    if (geteuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) ||
                           setresuid(NOBODY, NOBODY, NOBODY)))
        _exit(1);
    prctl(PR_SET_DUMPABLE, 0);
}

static int
try_undumpable(pid_t pid)
{
    rec_process p;
    pr_err err = PR_ERR_INIT;
    if (geteuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) ||
                           setresuid(NOBODY, NOBODY, NOBODY)))
        return 1;
    if (rec_process_open(pid, &p, &err) != PR_DENIED)
        return 2;
    /* Yama speaks first where it is set */
    if (strstr(err.what, "not dumpable") || strstr(err.what, "yama"))
        return 0;
    print_message("%s\n", err.what);
    return 3;
}

static void
a_process_that_is_not_dumpable_is_denied_with_the_reason(void **state)
{
    (void)state;
    helper h = start_helper(become_undumpable);
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(try_undumpable(h.pid));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    end_helper(&h);
}

/* ---- maps ---- */

static const rec_mapping *
mapping_at(const rec_maps *maps, const void *address)
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    size_t i = 0;
    while (i < maps->n && !(maps->v[i].start <= at && at < maps->v[i].end))
        i++;
    assert_true(i < maps->n);
    return &maps->v[i];
}

static void
a_mapped_file_is_opened_even_if_it_was_replaced(void **state)
{
    (void)state;
    char path[] = "/tmp/pyrec-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "first", 5), 5);
    void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    assert_int_equal(unlink(path), 0);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, "other", 5), 5);
    close(fd);
    rec_maps maps;
    assert_int_equal(rec_maps_read(getpid(), &maps, NULL), PR_OK);
    const rec_mapping *m = mapping_at(&maps, at);
    assert_string_equal(m->path, path);
    assert_false(m->writable);
    int open_fd = rec_maps_open(getpid(), m);
    if (open_fd >= 0) { /* by map_files, which needs a capability */
        char text[6] = "";
        assert_int_equal(read(open_fd, text, 5), 5);
        assert_string_equal(text, "first");
        close(open_fd);
    } else {
        assert_int_not_equal(geteuid(), 0);
    }
    rec_maps_release(&maps);
    munmap(at, 4096);
    unlink(path);
}

static void
nothing_but_regular_files_is_opened(void **state)
{
    (void)state;
    char folder[] = "/tmp/pyrec-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    rec_mapping m = {.start = 4096, .end = 8192, .inode = st.st_ino};
    m.path = path;
    assert_int_equal(rec_maps_open(getpid(), &m), -1);
    unlink(path);
    rmdir(folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_child_of_vfork_is_no_target_until_it_executes_a_program),
        cmocka_unit_test(a_child_of_fork_has_memory_of_its_own),
        cmocka_unit_test(this_process_is_alive_and_its_threads_are_listed),
        cmocka_unit_test(a_pid_without_a_process_is_named),
        cmocka_unit_test(a_zombie_has_ended),
        cmocka_unit_test(the_name_of_a_process_does_not_confuse),
        cmocka_unit_test(another_program_under_the_same_pid_is_noticed),
        cmocka_unit_test(a_thread_is_not_a_process),
        cmocka_unit_test(a_thread_of_the_kernel_is_named),
        cmocka_unit_test(children_and_their_children_are_found),
        cmocka_unit_test(missing_memory_differs_from_a_missing_process),
        cmocka_unit_test(more_pieces_than_one_call_takes_are_read),
        cmocka_unit_test(where_the_call_is_refused_the_file_is_read),
        cmocka_unit_test(the_process_of_another_user_is_denied_with_the_reason),
        cmocka_unit_test(
            a_process_that_is_not_dumpable_is_denied_with_the_reason),
        cmocka_unit_test(a_mapped_file_is_opened_even_if_it_was_replaced),
        cmocka_unit_test(nothing_but_regular_files_is_opened),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
