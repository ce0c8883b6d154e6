/*
 * descendants.c - the proc connector, and a list of all processes in its place.
 *
 * Facts of drivers/connector/cn_proc.c (Linux) that this file rests on: a
 * process that asks to listen gets an acknowledgement (its `ack` + 1) before
 * send() returns, or none at all outside of the first pid and user namespace,
 * where the ids in the events would mean other processes; the event of a fork
 * names the real parent and comes before the child can run; times are those of
 * CLOCK_MONOTONIC.
 */
#include "recorder/linux/descendants.h"

#include "recorder/linux/clock.h"
#include "recorder/linux/procfs.h"
#include <arpa/inet.h>
#include <base/array.h>
#include <base/hash.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    PIDS = 1 << 22, /* PID_MAX_LIMIT */
    LOOK_LEAST_MS = 20,
    LOOK_SHARE = 20, /* wait this many times the length of a listing */
    BUFFER_BYTES = 1 << 20,
    MESSAGE_BYTES = 1024
};

struct rec_descendants {
    int fd;       /* of the connector, or -1 */
    uint8_t *set; /* [PIDS / 8]: of the tree */
    pid_t root;
    uint64_t since_ns;            /* when it became the root */
    bool unlisted;                /* the next call must list all processes */
    uint64_t begun_ns, listed_ns; /* begin and end of the last listing */
    uint64_t longest_ns;          /* between two listings */
    int every_ms;
    rec_descendant_event *event;
    size_t n_events, cap_events;
    uint64_t seen, overruns;
};

/* ---- the members of the tree ---- */

static bool
belongs(const rec_descendants *c, pid_t pid)
{
    return pid > 0 && pid < PIDS && (c->set[pid / 8] >> pid % 8 & 1);
}

static void
put(rec_descendants *c, pid_t pid, bool in)
{
    if (pid <= 0 || pid >= PIDS)
        return;
    unsigned bit = 1u << pid % 8, byte = c->set[pid / 8];
    c->set[pid / 8] = (uint8_t)(in ? byte | bit : byte & ~bit);
}

static pr_code
add_event(rec_descendants *c, pid_t pid, bool execed, pr_err *err)
{
    if (!pr_grow(&c->event, &c->cap_events, c->n_events + 1, sizeof *c->event))
        return pr_no_memory(err);
    c->event[c->n_events++] = (rec_descendant_event){pid, execed};
    return PR_OK;
}

static pr_code
add_child(rec_descendants *c, pid_t pid, pr_err *err)
{
    put(c, pid, true);
    c->seen++;
    return add_event(c, pid, false, err);
}

/* ---- events of the kernel ---- */

/* A message is both headers and a proc_event, or our request. */
enum {
    CONNECTOR_AT = sizeof(struct nlmsghdr),
    EVENT_AT = CONNECTOR_AT + sizeof(struct cn_msg)
};

#define AT(field)     (EVENT_AT + (uint32_t)offsetof(struct proc_event, field))
#define FORK_AT(id)   AT(event_data.fork.id)
#define NETWORK(word) htonl((uint32_t)(word))

/* Let through the events of processes, not of threads: the threads of other
 * processes must not wake us.  A filter's words are in network order. */
static bool
attach_filter(int fd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(what)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETWORK(PROC_EVENT_NONE), 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETWORK(PROC_EVENT_EXEC), 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETWORK(PROC_EVENT_FORK), 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FORK_AT(child_pid)),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FORK_AT(child_tgid)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                      sizeof program) == 0;
}

static bool
ask(int fd, enum proc_cn_mcast_op op, uint32_t token)
{
    uint8_t bytes[EVENT_AT + sizeof op];
    struct nlmsghdr netlink = {.nlmsg_len = sizeof bytes,
                               .nlmsg_type = NLMSG_DONE};
    struct cn_msg connector = {
        .id = {CN_IDX_PROC, CN_VAL_PROC}, .ack = token, .len = sizeof op};
    memcpy(bytes, &netlink, sizeof netlink);
    memcpy(bytes + CONNECTOR_AT, &connector, sizeof connector);
    memcpy(bytes + EVENT_AT, &op, sizeof op);
    return send(fd, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes;
}

/* Parse a message.  False: it is not an event of the proc connector. */
static bool
parse(const uint8_t *bytes, size_t len, struct proc_event *ret,
      uint32_t *ret_ack)
{
    struct cn_msg connector;
    struct proc_event event = {0};
    if (len <= EVENT_AT)
        return false;
    memcpy(&connector, bytes + CONNECTOR_AT, sizeof connector);
    if (connector.id.idx != CN_IDX_PROC || connector.id.val != CN_VAL_PROC)
        return false;
    len -= EVENT_AT;
    memcpy(&event, bytes + EVENT_AT, len < sizeof event ? len : sizeof event);
    *ret = event;
    *ret_ack = connector.ack;
    return true;
}

/* The next message of the kernel.  1: *ret and *ret_ack; 0: none; -1:
 * some are lost.  Any process may write to this socket. */
static int
receive(int fd, struct proc_event *ret, uint32_t *ret_ack)
{
    for (;;) {
        uint8_t bytes[MESSAGE_BYTES];
        struct sockaddr_nl from = {0};
        socklen_t from_len = sizeof from;
        ssize_t n = recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT,
                             (struct sockaddr *)&from, &from_len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == ENOBUFS ? -1 : 0;
        if (from.nl_pid == 0 && parse(bytes, (size_t)n, ret, ret_ack))
            return 1;
    }
}

/* Without an acknowledgement no events come, or events with ids of another
 * namespace. */
static bool
is_acknowledged(int fd, uint32_t token)
{
    struct proc_event event;
    uint32_t got;
    while (receive(fd, &event, &got) > 0)
        if (event.what == PROC_EVENT_NONE && got == token + 1)
            return event.event_data.ack.err == 0;
    return false;
}

static int
open_connector(void)
{
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    NETLINK_CONNECTOR);
    if (fd < 0)
        return -1;
    struct sockaddr_nl group = {.nl_family = AF_NETLINK,
                                .nl_groups = CN_IDX_PROC};
    const int room = BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    uint32_t token = (uint32_t)pr_mix64(rec_now_ns() ^ (uint64_t)getpid());
    if (attach_filter(fd) &&
        bind(fd, (struct sockaddr *)&group, sizeof group) == 0 &&
        ask(fd, PROC_CN_MCAST_LISTEN, token) && is_acknowledged(fd, token))
        return fd;
    close(fd);
    return -1;
}

static pr_code
take_fork(rec_descendants *c, const struct proc_event *event, pr_err *err)
{
    pid_t pid = event->event_data.fork.child_tgid;
    if (belongs(c, pid) && event->timestamp_ns < c->listed_ns)
        return PR_OK; /* the listing found it before its event came */
    if (belongs(c, event->event_data.fork.parent_tgid))
        return add_child(c, pid, err);
    /* another process has the pid now; the event of the root's birth may come
     * after the root was named */
    if (pid != c->root || event->timestamp_ns > c->since_ns)
        put(c, pid, false);
    return PR_OK;
}

static pr_code
take_event(rec_descendants *c, const struct proc_event *event, pr_err *err)
{
    if (event->what == PROC_EVENT_FORK)
        return take_fork(c, event, err);
    pid_t pid = event->event_data.exec.process_tgid;
    if (event->what == PROC_EVENT_EXEC && belongs(c, pid) && pid != c->root)
        return add_event(c, pid, true, err);
    return PR_OK;
}

static pr_code
hear(rec_descendants *c, pr_err *err)
{
    pr_code code = PR_OK;
    struct proc_event event;
    uint32_t ack;
    int got;
    while (code == PR_OK && (got = receive(c->fd, &event, &ack)) != 0) {
        if (got > 0) {
            code = take_event(c, &event, err);
        } else {
            c->overruns++;
            c->unlisted = true;
        }
    }
    return code;
}

/* ---- the list of all processes ---- */

typedef struct listing {
    pid_t *pid, *parent;
    size_t n;
} listing;

static int
compare_pids(const void *a, const void *b)
{
    pid_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static pr_code
list(listing *l, pr_err *err)
{
    pr_code code = rec_procfs_numbers("/proc", &l->pid, &l->n, err);
    if (code != PR_OK)
        return code;
    l->parent = calloc(l->n + 1, sizeof *l->parent);
    if (!l->parent)
        return pr_no_memory(err);
    for (size_t i = 0; i < l->n; i++) {
        rec_stat stat;
        if (rec_stat_read(l->pid[i], 0, &stat))
            l->parent[i] = stat.parent;
    }
    return PR_OK;
}

/* Another process may get the pid of one that has gone. */
static void
forget_ended(rec_descendants *c, const listing *l)
{
    for (size_t i = 0; i < PIDS / 8; i++)
        for (pid_t bit = 0; c->set[i] && bit < 8; bit++) {
            pid_t pid = (pid_t)i * 8 + bit;
            if (belongs(c, pid) &&
                !bsearch(&pid, l->pid, l->n, sizeof pid, compare_pids))
                put(c, pid, false);
        }
}

/* A child has a higher pid than its parent until the pids start over. */
static pr_code
take_listed(rec_descendants *c, const listing *l, pr_err *err)
{
    pr_code code = PR_OK;
    for (bool more = true; more && code == PR_OK;) {
        more = false;
        for (size_t i = 0; i < l->n && code == PR_OK; i++)
            if (belongs(c, l->parent[i]) && !belongs(c, l->pid[i])) {
                more = true;
                code = add_child(c, l->pid[i], err);
            }
    }
    return code;
}

/* A listing costs time: the longer it takes, the more rarely it is done. */
static void
note_check(rec_descendants *c, uint64_t begun_ns, uint64_t used_ns)
{
    uint64_t since = c->begun_ns ? begun_ns - c->begun_ns : 0;
    if (since > c->longest_ns)
        c->longest_ns = since;
    c->begun_ns = begun_ns;
    c->listed_ns = rec_now_ns();
    c->unlisted = false;
    uint64_t every_ms = used_ns * LOOK_SHARE / 1000000;
    c->every_ms = every_ms > LOOK_LEAST_MS ? (int)every_ms : LOOK_LEAST_MS;
}

static pr_code
check_all(rec_descendants *c, pr_err *err)
{
    listing l = {0};
    uint64_t begun = rec_now_ns(), used = rec_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pr_code code = list(&l, err);
    if (code == PR_OK) {
        forget_ended(c, &l);
        code = take_listed(c, &l, err);
    }
    free(l.pid);
    free(l.parent);
    note_check(c, begun, rec_clock_ns(CLOCK_THREAD_CPUTIME_ID) - used);
    return code;
}

/* ---- both ---- */

pr_code
rec_descendants_open(rec_descendants **ret, pr_err *err)
{
    rec_descendants *c = calloc(1, sizeof *c);
    uint8_t *set = calloc(PIDS / 8, 1);
    if (!c || !set) {
        free(c);
        free(set);
        return pr_no_memory(err);
    }
    c->set = set;
    c->every_ms = LOOK_LEAST_MS;
    c->fd = open_connector();
    *ret = c;
    return PR_OK;
}

void
rec_descendants_free(rec_descendants *c)
{
    if (!c)
        return;
    if (c->fd >= 0) {
        ask(c->fd, PROC_CN_MCAST_IGNORE, 0);
        close(c->fd);
    }
    free(c->set);
    free(c->event);
    free(c);
}

void
rec_descendants_watch(rec_descendants *c, pid_t root)
{
    put(c, root, true);
    c->root = root;
    c->since_ns = rec_now_ns();
    c->unlisted = true;
}

int
rec_descendants_fd(const rec_descendants *c)
{
    return c->fd;
}

int
rec_descendants_every_ms(const rec_descendants *c)
{
    return c->fd >= 0 ? 0 : c->every_ms;
}

/* First the events; then, where these are not complete, the list of all
 * processes. */
pr_code
rec_descendants_check(rec_descendants *c, const rec_descendant_event **ret,
                      size_t *ret_n, pr_err *err)
{
    c->n_events = 0;
    pr_code code = PR_OK;
    if (c->fd >= 0)
        code = hear(c, err);
    bool due = rec_now_ns() - c->begun_ns >= (uint64_t)c->every_ms * 1000000;
    if (code == PR_OK && (c->unlisted || (c->fd < 0 && due)))
        code = check_all(c, err);
    if (code != PR_OK)
        return code;
    *ret = c->event;
    *ret_n = c->n_events;
    return PR_OK;
}

rec_descendants_report
rec_descendants_count(const rec_descendants *c)
{
    int blind_ms = c->every_ms;
    if (c->longest_ns / 1000000 > (uint64_t)blind_ms)
        blind_ms = (int)(c->longest_ns / 1000000);
    return (rec_descendants_report){c->seen, c->overruns, c->fd >= 0, blind_ms};
}
