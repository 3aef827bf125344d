// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

namespace rdmameter {

/// --cpu_util: user time over user and idle time of the whole machine, as perftest computes it.
class CpuUse {
 public:
  void begin() { before_ = read(); }
  double percent() const {
    const Times now = read();
    const double user = now.user - before_.user, idle = now.idle - before_.idle;
    return user + idle > 0 ? user / (user + idle) * 100 : 0;
  }

 private:
  struct Times {
    double user = 0, idle = 0;
  };
  static Times read() {  // proc(5): "cpu user nice system idle ..."
    std::ifstream stat("/proc/stat");
    std::string cpu;
    double nice = 0, system = 0;
    Times times;
    stat >> cpu >> times.user >> nice >> system >> times.idle;
    return times;
  }
  Times before_;
};

}  // namespace rdmameter
