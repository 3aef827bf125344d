// SPDX-License-Identifier: Apache-2.0
#include "core/base/control_group.h"

#include <fmt/format.h>

#include <fstream>

namespace rdmameter {
namespace {

using std::filesystem::path;

/// Lines of a device that has a limit: a number where the others have "max".
std::string limits_in(const path& file) {
  std::ifstream stream(file);
  std::string limits;
  for (std::string line; std::getline(stream, line);) {
    const auto number = line.find_first_of("0123456789", line.find('='));
    if (line.find('=') == std::string::npos || number == std::string::npos) continue;
    limits += fmt::format("{}{}", limits.empty() ? "" : "; ", line);
  }
  return limits;
}

}  // namespace

std::string verbs_object_limits(const path& membership, const path& root) {
  std::ifstream stream(membership);
  for (std::string line; std::getline(stream, line);) {  // number:controllers:path
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "rdma") continue;
    const path top = root / controllers;  // version 2 has one tree, and names no controllers
    path group = line.substr(second + 1);
    for (; group != group.root_path(); group = group.parent_path()) {
      const path file = (top / group.relative_path()) / "rdma.max";
      if (const std::string limits = limits_in(file); !limits.empty())
        return fmt::format("{}: {}", file.string(), limits);
    }
  }
  return {};
}

}  // namespace rdmameter
