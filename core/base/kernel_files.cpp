// SPDX-License-Identifier: Apache-2.0
#include "core/base/kernel_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "core/base/parse_value.h"

namespace rdmameter {

std::optional<std::string> read_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  constexpr const char* kBlanks = " \t\r\n";
  const auto begin = line.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return std::nullopt;
  return line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

std::filesystem::path slot_folder(const std::filesystem::path& device) {
  const std::filesystem::path own = device / "device";
  std::error_code none;
  const auto bus = std::filesystem::read_symlink(own / "subsystem", none);
  return bus.filename() == "auxiliary" ? own / ".." : own;
}

std::optional<std::string> word_behind(const std::filesystem::path& file, std::string_view key) {
  constexpr const char* kBlanks = " \t";
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const auto begin = line.find_first_not_of(kBlanks, key.size());
    if (begin == std::string::npos) return std::nullopt;
    return line.substr(begin, line.find_first_of(kBlanks, begin) - begin);
  }
  return std::nullopt;
}

std::optional<std::int64_t> read_number(const std::filesystem::path& file) {
  const std::string line = read_line(file).value_or("");
  std::int64_t value = 0;
  const char* const end = line.data() + line.size();
  const auto [stopped, error] = std::from_chars(line.data(), end, value);
  return error == std::errc{} && stopped == end ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> read_count(const std::filesystem::path& file) {
  return parse_count(read_line(file).value_or(""));
}

std::optional<std::string> own_host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return std::nullopt;
  return name.data();
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  // Not by range: its ++ throws.
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    found.push_back(entry->path());
  std::ranges::sort(found);
  return found;
}

std::vector<unsigned> cpu_list(std::string_view text, char separator) {
  constexpr unsigned kMaxCpus = 1U << 16;  // a wrong file must not fill the memory
  std::vector<unsigned> cpus;
  for (const std::string_view range : split(text, {&separator, 1})) {
    const auto dash = range.find('-');
    const auto first = parse_count(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_count(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMaxCpus) return {};
    for (auto cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<unsigned>(cpu));
  }
  return cpus;
}

std::vector<unsigned> cpus_in(const std::filesystem::path& file) {
  return cpu_list(read_line(file).value_or(""));
}

std::string cpu_list_text(std::span<const unsigned> cpus) {
  std::string list;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ",", cpus[first]);
    if (last > first) list += fmt::format("-{}", cpus[last]);
    first = last + 1;
  }
  return list;
}

namespace {

/// Lines of a device that has a limit: a number where the others have "max".
std::string limits_in(const std::filesystem::path& file) {
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

std::string verbs_object_limits(const std::filesystem::path& membership,
                                const std::filesystem::path& root) {
  std::ifstream stream(membership);
  for (std::string line; std::getline(stream, line);) {  // number:controllers:path
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "rdma") continue;
    const std::filesystem::path top =
        root / controllers;  // version 2 has one tree, and names no controllers
    std::filesystem::path group = line.substr(second + 1);
    for (; group != group.root_path(); group = group.parent_path()) {
      const std::filesystem::path file = (top / group.relative_path()) / "rdma.max";
      if (const std::string limits = limits_in(file); !limits.empty())
        return fmt::format("{}: {}", file.string(), limits);
    }
  }
  return {};
}

bool has_capability(unsigned capability, const std::filesystem::path& status) {
  constexpr int kHexadecimal = 16;
  const auto effective = parse_count(word_behind(status, "CapEff:").value_or(""), kHexadecimal);
  return effective && ((*effective >> capability) & 1U) != 0;
}

std::optional<std::uint64_t> softirq_ns(const std::filesystem::path& proc) {
  std::ifstream stat(proc / "stat");
  std::string name;
  // cpu user nice system idle iowait irq softirq ... (proc(5))
  std::uint64_t skipped = 0, softirq = 0;
  stat >> name;
  for (int field = 0; field < 6; ++field) stat >> skipped;
  stat >> softirq;
  if (!stat || name != "cpu") return std::nullopt;
  const auto ticks_per_s = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return softirq * (1'000'000'000 / ticks_per_s);
}

}  // namespace rdmameter
