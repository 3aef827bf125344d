// SPDX-License-Identifier: Apache-2.0
// The system calls that no session needs, and that do harm where a client has taken its process
// over. A session gets EPERM for them (core/server/call_filter.cpp). All others are allowed:
// providers of verbs and their libraries are not ours.
#pragma once

#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdint>

namespace rdmameter {

struct RefusedCall {
  enum class When : std::uint8_t {
    always,
    not_zero,     ///< the argument names a process, and is not 0, the caller itself
    not_own_pid,  ///< as not_zero, for calls in which 0 is more than the caller
    equal,        ///< the argument is `value`
    has,          ///< the argument has the bit `value`
  };
  const char* name;
  int number;  ///< negative: a CPU of this kind has no such call
  When when = When::always;
  unsigned argument = 0;
  std::uint64_t value = 0;
  int error = EPERM;
};

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define RDMAMETER_CALL(name) #name, SCMP_SYS(name)
// NOLINTEND(cppcoreguidelines-macro-usage)

/// Which argument of clone() has the flags: clone(2), "C library/kernel differences".
inline constexpr unsigned kCloneFlags =
#ifdef __s390x__
    1;
#else
    0;
#endif

/// Numbers are those that libseccomp 2.5.0 does not know; they are the same on all CPUs.
inline constexpr RefusedCall kRefusedCalls[]{
    // Limits, priorities, CPUs and memory of another process: the server has the same user, and can
    // be killed by a limit on CPU time, or blinded by one on descriptors. Our threads
    // set their own.
    {RDMAMETER_CALL(prlimit64), RefusedCall::When::not_zero},
    {RDMAMETER_CALL(setpriority), RefusedCall::When::not_zero, 0},  // PRIO_PROCESS is 0
    {RDMAMETER_CALL(setpriority), RefusedCall::When::not_zero, 1},
    {RDMAMETER_CALL(sched_setaffinity), RefusedCall::When::not_zero},
    {RDMAMETER_CALL(sched_setattr), RefusedCall::When::not_zero},
    {RDMAMETER_CALL(sched_setparam), RefusedCall::When::not_zero},
    {RDMAMETER_CALL(sched_setscheduler), RefusedCall::When::not_zero},
    {RDMAMETER_CALL(migrate_pages), RefusedCall::When::not_zero},
    {RDMAMETER_CALL(move_pages), RefusedCall::When::not_zero},
    {RDMAMETER_CALL(ioprio_set)},
    {RDMAMETER_CALL(process_madvise)},
    {"process_mrelease", 448},

    // Signals to another process. Landlock refuses them from Linux 6.12 on.
    {RDMAMETER_CALL(kill), RefusedCall::When::not_own_pid},
    {RDMAMETER_CALL(tgkill), RefusedCall::When::not_own_pid},
    {RDMAMETER_CALL(tkill)},
    {RDMAMETER_CALL(rt_sigqueueinfo)},
    {RDMAMETER_CALL(rt_tgsigqueueinfo)},
    {RDMAMETER_CALL(pidfd_send_signal)},
    // Who gets SIGIO.
    {RDMAMETER_CALL(fcntl), RefusedCall::When::equal, 1, 8},   // F_SETOWN
    {RDMAMETER_CALL(fcntl), RefusedCall::When::equal, 1, 15},  // F_SETOWN_EX
    {RDMAMETER_CALL(ioctl), RefusedCall::When::equal, 1, FIOSETOWN},
    {RDMAMETER_CALL(ioctl), RefusedCall::When::equal, 1, SIOCSPGRP},
    // What is typed at a terminal of the server's.
    {RDMAMETER_CALL(ioctl), RefusedCall::When::equal, 1, TIOCSTI},

// Memory and descriptors of another process. LeakSanitizer stops threads by ptrace.
#ifndef RDMAMETER_SANITIZED
    {RDMAMETER_CALL(ptrace)},
#endif
    {RDMAMETER_CALL(process_vm_readv)},
    {RDMAMETER_CALL(process_vm_writev)},
    {RDMAMETER_CALL(pidfd_getfd)},
    {RDMAMETER_CALL(kcmp)},

    // Programs: with Landlock they cannot be opened either.
    {RDMAMETER_CALL(execve)},
    {RDMAMETER_CALL(execveat)},
    {RDMAMETER_CALL(uselib)},

    // Modes, owners, times, attributes and lengths of files of the server's user: Landlock leaves
    // all but the last open, and truncate() before Linux 6.2.
    {RDMAMETER_CALL(chmod)},
    {RDMAMETER_CALL(fchmod)},
    {RDMAMETER_CALL(fchmodat)},
    {"fchmodat2", 452},
    {RDMAMETER_CALL(chown)},
    {RDMAMETER_CALL(fchown)},
    {RDMAMETER_CALL(lchown)},
    {RDMAMETER_CALL(fchownat)},
    {RDMAMETER_CALL(utime)},
    {RDMAMETER_CALL(utimes)},
    {RDMAMETER_CALL(futimesat)},
    {RDMAMETER_CALL(utimensat)},
    {RDMAMETER_CALL(setxattr)},
    {RDMAMETER_CALL(lsetxattr)},
    {RDMAMETER_CALL(fsetxattr)},
    {"setxattrat", 463},
    {RDMAMETER_CALL(removexattr)},
    {RDMAMETER_CALL(lremovexattr)},
    {RDMAMETER_CALL(fremovexattr)},
    {"removexattrat", 466},
    {"file_setattr", 469},
    {RDMAMETER_CALL(truncate)},
    {RDMAMETER_CALL(open_by_handle_at)},  // opens what its path would not let in

    // Namespaces: with one of users a process has capabilities, and reaches more of the kernel.
    {RDMAMETER_CALL(unshare)},
    {RDMAMETER_CALL(setns)},
    {RDMAMETER_CALL(clone), RefusedCall::When::has, kCloneFlags, CLONE_NEWUSER},
    {RDMAMETER_CALL(clone), RefusedCall::When::has, kCloneFlags, CLONE_NEWNS},
    {RDMAMETER_CALL(clone), RefusedCall::When::has, kCloneFlags, CLONE_NEWPID},
    {RDMAMETER_CALL(clone), RefusedCall::When::has, kCloneFlags, CLONE_NEWNET},
    {RDMAMETER_CALL(clone), RefusedCall::When::has, kCloneFlags, CLONE_NEWIPC},
    {RDMAMETER_CALL(clone), RefusedCall::When::has, kCloneFlags, CLONE_NEWUTS},
    {RDMAMETER_CALL(clone), RefusedCall::When::has, kCloneFlags, CLONE_NEWCGROUP},
    // Its flags are in memory, which no filter sees. glibc then begins a thread by clone().
    {RDMAMETER_CALL(clone3), RefusedCall::When::always, 0, 0, ENOSYS},

    // Mounting file systems.
    {RDMAMETER_CALL(mount)},
    {RDMAMETER_CALL(umount2)},
    {RDMAMETER_CALL(pivot_root)},
    {RDMAMETER_CALL(chroot)},
    {RDMAMETER_CALL(fsopen)},
    {RDMAMETER_CALL(fsconfig)},
    {RDMAMETER_CALL(fsmount)},
    {RDMAMETER_CALL(fspick)},
    {RDMAMETER_CALL(move_mount)},
    {RDMAMETER_CALL(open_tree)},
    {"mount_setattr", 442},
    {"open_tree_attr", 467},

    // Large parts of the kernel in which faults are found again and again. What io_uring does, no
    // filter sees.
    {RDMAMETER_CALL(bpf)},
    {RDMAMETER_CALL(perf_event_open)},
    {RDMAMETER_CALL(userfaultfd)},
    {RDMAMETER_CALL(io_uring_setup)},
    {RDMAMETER_CALL(io_uring_enter)},
    {RDMAMETER_CALL(io_uring_register)},
    {RDMAMETER_CALL(fanotify_init)},
    {RDMAMETER_CALL(modify_ldt)},
    {RDMAMETER_CALL(personality)},
    {RDMAMETER_CALL(vmsplice)},

    // Keys of the server's user.
    {RDMAMETER_CALL(keyctl)},
    {RDMAMETER_CALL(add_key)},
    {RDMAMETER_CALL(request_key)},

    // The machine: for root alone, and so for a session only by a fault of the kernel's.
    {RDMAMETER_CALL(kexec_load)},
    {RDMAMETER_CALL(kexec_file_load)},
    {RDMAMETER_CALL(init_module)},
    {RDMAMETER_CALL(finit_module)},
    {RDMAMETER_CALL(delete_module)},
    {RDMAMETER_CALL(reboot)},
    {RDMAMETER_CALL(swapon)},
    {RDMAMETER_CALL(swapoff)},
    {RDMAMETER_CALL(quotactl)},
    {"quotactl_fd", 443},
    {RDMAMETER_CALL(acct)},
    {RDMAMETER_CALL(syslog)},
    {RDMAMETER_CALL(vhangup)},
    {RDMAMETER_CALL(iopl)},
    {RDMAMETER_CALL(ioperm)},
    {RDMAMETER_CALL(settimeofday)},
    {RDMAMETER_CALL(clock_settime)},
    {RDMAMETER_CALL(sethostname)},
    {RDMAMETER_CALL(setdomainname)},
};

#undef RDMAMETER_CALL

}  // namespace rdmameter
