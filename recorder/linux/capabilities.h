/*
 * capabilities.h - the capabilities of pyrec itself (capabilities(7)).
 */
#ifndef RECORDER_LINUX_CAPABILITIES_H
#define RECORDER_LINUX_CAPABILITIES_H

/* Give up what a recording does not need: all but the capabilities to read the
 * memory of other users' processes, to set the priority of a sampler, to reach
 * files and to signal a command of another user.  From the only thread: threads
 * that it makes later have what it has left.
 *
 * A caller without CAP_SYS_PTRACE keeps all: the kernel lets it read only a
 * process whose capabilities it has, too (security/commoncap.c,
 * cap_ptrace_access_check()). */
void rec_capabilities_drop(void);

#endif
