// SPDX-License-Identifier: Apache-2.0
// mlx5's devices put the bytes of a small receive on RC and UC into its CQE, and ibv_poll_cq()
// copies them to the address of the receive's SGE (rdma-core, providers/mlx5/qp.c,
// mlx5_copy_to_recv_wqe). Device memory has no address for the CPU: there that crashes.
#pragma once

#include <mutex>

namespace rdmameter {

/// Says to mlx5's provider whether QPs that are made while this exists may do that, by its variable
/// MLX5_SCATTER_TO_CQE. Others that make QPs by this wait. To other providers it says nothing.
class ScatterToCqe {
 public:
  /// @param allowed  true: as the provider does by default, or as the program's user has set it
  explicit ScatterToCqe(bool allowed);
  ~ScatterToCqe();
  ScatterToCqe(ScatterToCqe&&) = delete;

 private:
  const std::lock_guard<std::mutex> alone_;
};

}  // namespace rdmameter
