// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/device/request_log.h"

#include <cstdio>
#include <deque>
#include <mutex>
#include <string>

#include "tests/software_device/segment/clock.h"
#include "tests/software_device/segment/process.h"

namespace rdmameter::software {
namespace {

struct Entry {
  std::uint64_t at_ns;
  std::uint32_t qpn, number;
  const char* what;
};

struct RequestLog {
  std::mutex mutex;
  std::deque<Entry> entries;  // it grows without moving what is there
};

RequestLog& request_log() {
  static auto* const log = new RequestLog;  // other threads may still add to it when this one ends
  return *log;
}

[[gnu::destructor]] void write_log() {
  const Settings* const read = settings_read.load();
  if (read == nullptr || read->log.empty()) return;
  RequestLog& log = request_log();
  const std::lock_guard locked(log.mutex);
  if (log.entries.empty()) return;
  const std::string path = read->log + "." + std::to_string(own_pid());
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) die("RDMAMETER_DEVICE_LOG: " + path + " cannot be written");
  for (const Entry& entry : log.entries)
    std::fprintf(file, "%s %u %u %llu\n", entry.what, entry.qpn, entry.number,
                 static_cast<unsigned long long>(entry.at_ns));
  std::fclose(file);
}

}  // namespace

void keep_in_log(const char* what, std::uint32_t qpn, std::uint32_t number) {
  RequestLog& log = request_log();
  const std::lock_guard locked(log.mutex);
  log.entries.push_back({now_ns(), qpn, number, what});
}

}  // namespace rdmameter::software
