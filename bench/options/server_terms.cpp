// SPDX-License-Identifier: Apache-2.0
#include "bench/options/server_terms.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "bench/options/token.h"
#include "core/base/parse_value.h"
#include "core/engine/placement/placement.h"
#include "core/server/call_filter.h"
#include "core/server/server.h"
#include "reports/text/text.h"

namespace rdmameter {

std::uint64_t machine_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t default_max_memory_bytes() {
  return machine_memory_bytes() / 2;
}

std::uint64_t default_max_threads() {
  return std::clamp(kThreadsPerCpu * allowed_cpus(), kMinThreads, kMaxThreads);
}

Sandboxing sandboxing_from_text(const std::string& option, const std::string& text) {
  if (text == "off") return Sandboxing::off;
  if (text == "on") return Sandboxing::on;
  if (text == "required") return Sandboxing::required;
  throw invalid_value(option, text, "off, on, required");
}

Speaker speaker_of(ClientEvent event) {
  return event == ClientEvent::session_end ? Speaker::server : Speaker::client;
}

void tell_missing_sandbox(const char* off) {
  if (!has_landlock())
    tell_lines(
        "rdmameter: this kernel has no Landlock of ABI 2 (Linux 5.19), which would keep clients' "
        "processes from reading and changing this user's files; give {} if that is intended\n",
        off);
  if (const char* const missing = missing_call_filter())
    tell_lines(
        "rdmameter: {}, which would keep clients' processes from changing limits and priorities "
        "of the server, and modes of this user's files; give {} if that is intended\n",
        missing, off);
}

void forget_token_variable() {
  if (char* const text = std::getenv(kTokenVariable)) explicit_bzero(text, std::strlen(text));
  unsetenv(kTokenVariable);
}

}  // namespace rdmameter
