/*
 * capabilities.c - capget() and capset(), which the C library does not declare.
 */
#include "recorder/linux/capabilities.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (1u << (capability))
#define NEEDED                                                 \
    (BIT(CAP_SYS_PTRACE) | BIT(CAP_SYS_NICE) | BIT(CAP_KILL) | \
     BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER))

void
rec_capabilities_drop(void)
{
    struct __user_cap_header_struct header = {.version =
                                                  _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, set) != 0 ||
        !(set[0].effective & BIT(CAP_SYS_PTRACE)))
        return;
    set[0].effective &= NEEDED;
    set[0].permitted &= NEEDED;
    set[0].inheritable = 0;
    set[1] = (struct __user_cap_data_struct){0};
    /* that it fails costs nothing but the caution */
    (void)syscall(SYS_capset, &header, set);
}
