// SPDX-License-Identifier: Apache-2.0
#include "core/engine/device/protection_domain.h"

#include <fmt/format.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/test_case/test_case.h"
#include "core/verbs/check.h"

namespace rdmameter {

ProtectionDomain::ProtectionDomain(ibv_context& context, std::uint64_t thread_domain,
                                   const std::string& where)
    : pd_(check_pointer([&] { return ibv_alloc_pd(&context); }, "ibv_alloc_pd", where)) {
  if (thread_domain == 0) return;
  ibv_td_init_attr attributes{};
  errno = 0;
  td_.reset(ibv_alloc_td(&context, &attributes));
  const char* verb = "ibv_alloc_td";
  if (td_) {
    verb = "ibv_alloc_parent_domain";
    ibv_parent_domain_init_attr domain{};
    domain.pd = pd_.get();
    domain.td = td_.get();
    parent_.reset(ibv_alloc_parent_domain(&context, &domain));
  }
  if (parent_) return;
  const int error = errno != 0 ? errno : EINVAL;  // a provider may set none
  td_.reset();
  if (thread_domain == kAuto) return;
  if (is_unsupported(error))
    throw Unsupported(fmt::format(
        "{} has no thread domains: use --thread-domain auto, or --thread-domain off", where));
  check_errno_value(error, verb, where);
}

}  // namespace rdmameter
