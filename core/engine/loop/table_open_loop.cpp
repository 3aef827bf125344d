// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/open_loop.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class By>
struct Offering {
  template <class P>
  static constexpr auto kRun = open_loop_initiator<By, P>;
};

struct Answering {
  template <class P>
  static constexpr auto kRun = open_loop_responder<PlainAnswers, P>;
};

}  // namespace

const Instances& open_loop_instances(const TestCase& test_case, bool per_qp) {
  if (test_case.mixed() && test_case.answered())
    return per_qp ? kInstances<Offering<EachQp<OfMix<ByAnswer>>>>
                  : kInstances<Offering<OfMix<ByAnswer>>>;
  if (test_case.mixed())
    return per_qp ? kInstances<Offering<EachQp<OfMix<ByCompletion>>>>
                  : kInstances<Offering<OfMix<ByCompletion>>>;
  if (per_qp)
    return test_case.answered() ? kInstances<Offering<EachQp<ByAnswer>>>
                                : kInstances<Offering<EachQp<ByCompletion>>>;
  return test_case.answered() ? kInstances<Offering<ByAnswer>> : kInstances<Offering<ByCompletion>>;
}

const Instances& answer_instances() {
  return kInstances<Answering>;
}

}  // namespace rdmameter
