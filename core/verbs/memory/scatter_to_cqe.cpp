// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/memory/scatter_to_cqe.h"

#include <cstdlib>
#include <cstring>

namespace rdmameter {
namespace {

std::mutex one_qp_maker;

/// It stays in the environment and only its value changes: setenv() may move the environment while
/// another thread reads it (attributes(7), "MT-Safe env").
char scatter_variable[] = "MLX5_SCATTER_TO_CQE=1";
char& scatter_value = scatter_variable[sizeof scatter_variable - 2];

/// @return false: the user has turned it off, and so it stays
bool take_scatter_variable() {
  const char* const set = std::getenv("MLX5_SCATTER_TO_CQE");
  if (set != nullptr && std::strcmp(set, "0") == 0) return false;
  return putenv(scatter_variable) == 0;
}

const bool kScatterIsOurs =
    take_scatter_variable();  // before main(): no other thread reads the environment yet

}  // namespace

ScatterToCqe::ScatterToCqe(bool allowed) : alone_(one_qp_maker) {
  if (kScatterIsOurs && !allowed) scatter_value = '0';
}

ScatterToCqe::~ScatterToCqe() {
  scatter_value = '1';
}

}  // namespace rdmameter
