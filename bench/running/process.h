// SPDX-License-Identifier: Apache-2.0
// The process: its standard streams when it begins, and signals.
#pragma once

namespace rdmameter {

class InterruptSource;  // core/wire/wait.h

/// Started with stdin, stdout or stderr closed, the next files and sockets that the program opens
/// would get their numbers, and what is meant for people would go into them. This gives each of
/// them /dev/null, opened the other way round: to read or write it fails as on a closed one
/// (EBADF). Call it before anything is opened.
void occupy_standard_streams() noexcept;

// Ctrl-C, SIGTERM and SIGHUP.

/// SIGINT, SIGTERM and (unless it is ignored: nohup) SIGHUP raise `interrupt`, with which all waits
/// of writers end (core/log/print.h). It must live as long as the process. Once everything
/// is to end, the next SIGINT has the default action, for a run that does not. SIGPIPE is ignored:
/// a reader that goes away is an error of write(). SIGCHLD has its default action, in which
/// waitpid() learns how a child ended.
void raise_on_signals(InterruptSource& interrupt);

/// Gives SIGINT, SIGTERM or SIGHUP back what it did before raise_on_signals().
void give_signal_back(int number);

/// Of several SIGINTs the first alone counts: `timeout -s INT` sends two, and an orderly end needs
/// one. What hangs then is ended by another signal.
void take_one_interrupt();

}  // namespace rdmameter
