// SPDX-License-Identifier: Apache-2.0
#include "core/payload_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "core/check.h"
#include "core/error.h"

namespace rdmameter {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

std::string beginning_of(const std::string& path) {
  const std::unique_ptr<std::FILE, Close> file{std::fopen(path.c_str(), "rbe")};
  if (!file) throw_failure("open", "--payload file:" + path, errno);
  std::string bytes(kMostPayloadFileBytes, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get()) != 0) throw_failure("read", "--payload file:" + path, errno);
  if (bytes.empty())
    throw Unsupported(
        fmt::format("--payload file:{}: the file is empty, and holds no messages", path));
  return bytes;
}

}  // namespace

Case with_payload(const Case& one_case) {
  Case made = one_case;
  if (made.payload.starts_with(kFileMemory))
    made.payload_bytes = beginning_of(made.payload.substr(kFileMemory.size()));
  return made;
}

}  // namespace rdmameter
