// SPDX-License-Identifier: Apache-2.0
#include "bench/signals.h"

#include <csignal>

namespace rdmameter {
namespace {

InterruptSource* raised = nullptr;  // set before the handlers are

void on_signal(int) {
  raised->raise();
}

}  // namespace

void raise_on_signals(InterruptSource& interrupt) {
  raised = &interrupt;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  action.sa_flags |= static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_IGN;
  action.sa_flags = 0;
  sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace rdmameter
