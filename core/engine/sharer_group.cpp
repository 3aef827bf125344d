// SPDX-License-Identifier: Apache-2.0
#include "core/engine/sharer_group.h"

namespace rdmameter {
namespace {

/// Makes the first sharer, and then the others on its endpoint.
class SharerMaker {
 public:
  SharerMaker(OpenDevice& device, const TestCase& test_case, std::uint64_t seed, CmWatch watch)
      : device_(device), case_(test_case), seed_(seed), watch_(watch) {}

  std::unique_ptr<EndpointRunner> operator()() {
    const std::uint32_t sharer = made_++;
    if (sharer != 0) return std::make_unique<VerbsRunner>(*first_, sharer);
    auto first = std::make_unique<VerbsRunner>(device_, case_, Role::initiator, seed_, watch_);
    first_ = first.get();
    return first;
  }

 private:
  OpenDevice& device_;
  const TestCase& case_;
  const std::uint64_t seed_;
  const CmWatch watch_;
  VerbsRunner* first_ = nullptr;
  std::uint32_t made_ = 0;
};

}  // namespace

SharerGroup::SharerGroup(OpenDevice& device, const TestCase& test_case, std::uint64_t seed,
                         CmWatch watch)
    : ThreadGroup(test_case, Role::initiator, seed,
                  [maker = std::make_shared<SharerMaker>(device, test_case, seed, watch)](
                      std::uint64_t) { return (*maker)(); }) {}

void SharerGroup::connect(const Introduction& peer) {
  for (const auto& member : members()) member->connect(peer);
}

std::vector<std::uint64_t> SharerGroup::totals() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t total : ThreadGroup::totals()) sum += total;
  return {sum};
}

}  // namespace rdmameter
