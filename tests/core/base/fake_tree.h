// SPDX-License-Identifier: Apache-2.0
// A throw-away folder that stands in for /sys or /proc.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace rdmameter {

class FakeTree {
 public:
  FakeTree() {
    std::string pattern = ::testing::TempDir() + "rdmameter-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    root_ = pattern;
  }
  ~FakeTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;

  const std::filesystem::path& root() const { return root_; }

  void write(const std::filesystem::path& file, std::string_view content) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << content;
  }

  void link(const std::filesystem::path& file, const std::filesystem::path& target) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::filesystem::create_symlink(target, root_ / file);
  }

 private:
  std::filesystem::path root_;
};

}  // namespace rdmameter
