// SPDX-License-Identifier: Apache-2.0
// What tools/mutate puts into sources: places that do what stands there, or, if the environment
// variable RDMAMETER_MUTANT has their number, something else. So one build holds all mutants. Never
// part of the program.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <type_traits>

namespace mutant {

/// Which places were reached; at the end they are appended to the file that
/// RDMAMETER_MUTANTS_REACHED names.
class Reached {
 public:
  Reached() = default;
  Reached(const Reached&) = delete;
  Reached& operator=(const Reached&) = delete;
  ~Reached() {
    if (path_ == nullptr) return;
    std::ofstream file(path_, std::ios::app);
    for (std::size_t number = 0; number < numbers_.size(); ++number)
      if (numbers_[number]) file << number << '\n';
  }
  void add(std::size_t number) {
    if (path_ != nullptr) numbers_.at(number).store(true, std::memory_order_relaxed);
  }

 private:
  const char* path_ = std::getenv("RDMAMETER_MUTANTS_REACHED");
  std::array<std::atomic<bool>, 8192> numbers_{};
};

inline bool on(int number) {
  static const char* const text = std::getenv("RDMAMETER_MUTANT");
  static const int chosen = text != nullptr ? std::atoi(text) : 0;
  static Reached reached;
  reached.add(static_cast<std::size_t>(number));
  return number == chosen;
}

/// For constexpr functions: what the compiler computes stays as it is.
constexpr bool on_at_run_time(int number) {
  return std::is_constant_evaluated() ? false : on(number);
}

/// The change does not exist for these types: tools/mutate takes this status for "compiler".
[[noreturn]] inline void no_such_operator() {
  std::_Exit(77);
}

template <class Value>
constexpr Value pick(bool changed, Value as_is, Value instead) {
  return changed ? instead : as_is;
}

// `a < Relation{...} < b` stands for `a < b`: the precedence is that of the operator, and no
// operand need be found.
struct Relation {
  bool boundary, turned;
};
template <class Left>
struct RelationLeft {
  const Left& left;
  Relation changed;
};

#define MUTANT_RELATION(op, boundary_op, turned_op)                               \
  template <class Left>                                                           \
  constexpr RelationLeft<Left> operator op(const Left& left, Relation changed) {  \
    return {left, changed};                                                       \
  }                                                                               \
  template <class Left, class Right>                                              \
  constexpr bool operator op(const RelationLeft<Left>& one, const Right& right) { \
    if (one.changed.boundary) return one.left boundary_op right;                  \
    if (one.changed.turned) return one.left turned_op right;                      \
    return one.left op right;                                                     \
  }
MUTANT_RELATION(<, <=, >)
MUTANT_RELATION(<=, <, >=)
MUTANT_RELATION(>, >=, <)
MUTANT_RELATION(>=, >, <=)
MUTANT_RELATION(==, !=, !=)
MUTANT_RELATION(!=, ==, ==)
#undef MUTANT_RELATION

struct Arithmetic {
  bool changed;
};
template <class Left>
struct ArithmeticLeft {
  const Left& left;
  bool changed;
};

#define MUTANT_ARITHMETIC(op, other)                                                \
  template <class Left>                                                             \
  constexpr ArithmeticLeft<Left> operator op(const Left& left, Arithmetic one) {    \
    return {left, one.changed};                                                     \
  }                                                                                 \
  template <class Left, class Right>                                                \
  constexpr auto operator op(const ArithmeticLeft<Left>& one, const Right& right) { \
    using Result = decltype(one.left op right);                                     \
    if constexpr (requires { static_cast<Result>(one.left other right); }) {        \
      if (one.changed) return static_cast<Result>(one.left other right);            \
    } else if (one.changed) {                                                       \
      no_such_operator();                                                           \
    }                                                                               \
    return one.left op right;                                                       \
  }
MUTANT_ARITHMETIC(+, -)
MUTANT_ARITHMETIC(-, +)
MUTANT_ARITHMETIC(*, /)
MUTANT_ARITHMETIC(/, *)
#undef MUTANT_ARITHMETIC

template <class Right>
struct Added {
  const Right& right;
  bool changed;
};
template <class Right>
constexpr Added<Right> operator+=(Arithmetic one, const Right& right) {
  return {right, one.changed};
}
template <class Left, class Right>
constexpr Left& operator+=(Left& left, const Added<Right>& one) {
  if constexpr (requires { left -= one.right; }) {
    if (one.changed) return left -= one.right;
  } else if (one.changed) {
    no_such_operator();
  }
  return left += one.right;
}

/// `Step{...} ->* a.b` stands for `++a.b`.
struct Step {
  bool changed;
};
template <class Value>
constexpr Value& operator->*(Step step, Value& value) {
  if constexpr (requires { --value; }) {
    if (step.changed) return --value;
  } else if (step.changed) {
    no_such_operator();
  }
  return ++value;
}

template <class Left, class Right>
constexpr bool both(bool changed, Left left, Right right) {
  return changed ? left() || right() : left() && right();
}
template <class Left, class Right>
constexpr bool either(bool changed, Left left, Right right) {
  return changed ? left() && right() : left() || right();
}

template <class Value>
constexpr const Value& min(bool changed, const Value& a, const Value& b) {
  return changed ? std::max(a, b) : std::min(a, b);
}
template <class Value>
constexpr Value min(bool changed, std::initializer_list<Value> values) {
  return changed ? std::max(values) : std::min(values);
}
template <class Value>
constexpr const Value& max(bool changed, const Value& a, const Value& b) {
  return changed ? std::min(a, b) : std::max(a, b);
}
template <class Value>
constexpr Value max(bool changed, std::initializer_list<Value> values) {
  return changed ? std::min(values) : std::max(values);
}
template <class Value>
auto ceil(bool changed, Value value) {
  return changed ? std::floor(value) : std::ceil(value);
}
template <class Value>
auto abs(bool changed, Value value) {
  return changed ? value : std::abs(value);
}
template <class Value>
auto log(bool changed, Value value) {
  return changed ? value : std::log(value);
}

}  // namespace mutant
