/*!
 * Integer and float operators over rows and scalar registers.
 */
#include <tirx/sim/alu.h>
#include <tirx/sim/machine.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace tirx {
namespace sim {
namespace {

template <typename S>
constexpr bool kInt = std::is_integral_v<S>;
template <typename S>
using Unsigned = std::make_unsigned_t<S>;

template <typename S>
S FloorDivValue(S a, S b) {
  if constexpr (std::is_signed_v<S>) {
    S q = b == -1 ? static_cast<S>(Unsigned<S>{0} - static_cast<Unsigned<S>>(a)) : a / b;
    S r = b == -1 ? 0 : a % b;
    return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
  } else {
    return a / b;
  }
}
template <typename S>
S FloorModValue(S a, S b) {
  if constexpr (std::is_signed_v<S>) {
    S r = b == -1 ? 0 : a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else {
    return a % b;
  }
}

struct Add {
  template <typename S>
  static S F(S a, S b) {
    if constexpr (kInt<S>) {
      return static_cast<S>(static_cast<Unsigned<S>>(a) + static_cast<Unsigned<S>>(b));
    } else {
      return a + b;
    }
  }
};
struct Sub {
  template <typename S>
  static S F(S a, S b) {
    if constexpr (kInt<S>) {
      return static_cast<S>(static_cast<Unsigned<S>>(a) - static_cast<Unsigned<S>>(b));
    } else {
      return a - b;
    }
  }
};
struct Mul {
  template <typename S>
  static S F(S a, S b) {
    if constexpr (kInt<S>) {
      return static_cast<S>(static_cast<Unsigned<S>>(a) * static_cast<Unsigned<S>>(b));
    } else {
      return a * b;
    }
  }
};
struct Min {
  template <typename S>
  static S F(S a, S b) {
    if constexpr (!kInt<S>) {
      if (a != a) return b;
      if (b != b) return a;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
};
struct Max {
  template <typename S>
  static S F(S a, S b) {
    if constexpr (!kInt<S>) {
      if (a != a) return b;
      if (b != b) return a;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a > b ? a : b;
  }
};
// Integer division: the callers have replaced b == 0.
struct FDiv {
  template <typename S>
  static S F(S a, S b) {
    if constexpr (kInt<S>) {
      return FloorDivValue(a, b);
    } else {
      return std::floor(a / b);
    }
  }
};
struct FMod {
  template <typename S>
  static S F(S a, S b) {
    if constexpr (kInt<S>) {
      return FloorModValue(a, b);
    } else {
      return a - std::floor(a / b) * b;
    }
  }
};
struct TDiv {
  template <typename S>
  static S F(S a, S b) {
    if constexpr (!kInt<S>) {
      return std::trunc(a / b);
    } else if constexpr (std::is_signed_v<S>) {
      return b == -1 ? static_cast<S>(Unsigned<S>{0} - static_cast<Unsigned<S>>(a)) : a / b;
    } else {
      return a / b;
    }
  }
};
struct TMod {
  template <typename S>
  static S F(S a, S b) {
    if constexpr (!kInt<S>) {
      return std::fmod(a, b);
    } else if constexpr (std::is_signed_v<S>) {
      return b == -1 ? 0 : a % b;
    } else {
      return a % b;
    }
  }
};
struct Div {
  template <typename S>
  static S F(S a, S b) {
    return a / b;
  }
};
struct BitAnd {
  template <typename S>
  static S F(S a, S b) {
    return a & b;
  }
};
struct BitOr {
  template <typename S>
  static S F(S a, S b) {
    return a | b;
  }
};
struct BitXor {
  template <typename S>
  static S F(S a, S b) {
    return a ^ b;
  }
};
template <typename S>
bool ShiftsOut(S count) {
  return static_cast<Unsigned<S>>(count) >= sizeof(S) * 8;
}
struct Shl {
  template <typename S>
  static S F(S a, S b) {
    return ShiftsOut(b) ? S{0} : static_cast<S>(static_cast<Unsigned<S>>(a) << b);
  }
};
struct Shr {
  template <typename S>
  static S F(S a, S b) {
    if (ShiftsOut(b)) return std::is_signed_v<S> && a < 0 ? static_cast<S>(-1) : S{0};
    return static_cast<S>(a >> b);
  }
};

#define TIRX_COMPARE(Name, op)    \
  struct Name {                   \
    template <typename S>         \
    static uint32_t F(S a, S b) { \
      return a op b;              \
    }                             \
  }
TIRX_COMPARE(Eq, ==);
TIRX_COMPARE(Ne, !=);
TIRX_COMPARE(Lt, <);
TIRX_COMPARE(Le, <=);
TIRX_COMPARE(Gt, >);
TIRX_COMPARE(Ge, >=);
#undef TIRX_COMPARE

template <typename Op, typename S>
void RowBinary(Warp& w, const Ins& i) {
  using R = decltype(Op::F(S{}, S{}));
  const S *a = w.Row<S>(i.a), *b = w.Row<S>(i.b);
  R out[kLanes];
  for (int l = 0; l < kLanes; ++l) out[l] = Op::F(a[l], b[l]);
  std::copy(out, out + kLanes, w.Row<R>(i.d));
}

void ReportDivision(Warp& w, const Ins& i, uint32_t lanes) {
  Finding f;
  f.code = "division-by-zero";
  f.message = "integer division by zero";
  f.loc = i.loc;
  f.found = "a zero divisor in " + MaskName(lanes) + " of " + WarpName(w);
  f.required = "a divisor other than 0 in every active lane";
  f.hint = "guard the division with a select, whose other arm is not evaluated";
  w.m->Report(std::move(f));
}

template <typename Op, typename S>
void RowDivision(Warp& w, const Ins& i) {
  const S *a = w.Row<S>(i.a), *b = w.Row<S>(i.b);
  S* d = w.Row<S>(i.d);
  uint32_t zero = 0;
  for (int l = 0; l < kLanes; ++l) {
    bool bad = b[l] == 0;
    zero |= static_cast<uint32_t>(bad) << l;
    d[l] = bad ? S{0} : Op::F(a[l], b[l]);
  }
  if (zero & w.mask) ReportDivision(w, i, zero & w.mask);
}

template <typename Op, typename S>
void ScalarBinary(Warp& w, const Ins& i) {
  w.s[i.d] = static_cast<int64_t>(Op::F(static_cast<S>(w.s[i.a]), static_cast<S>(w.s[i.b])));
}

template <typename Op, typename S>
void ScalarDivision(Warp& w, const Ins& i) {
  S b = static_cast<S>(w.s[i.b]);
  if (b == 0) ReportDivision(w, i, w.mask);
  w.s[i.d] = b == 0 ? 0 : static_cast<int64_t>(Op::F(static_cast<S>(w.s[i.a]), b));
}

/*! H<Op, S> for the class c. */
template <template <typename, typename> class H, typename Op>
Fn PickInt(Cls c) {
  switch (c) {
    case Cls::kI32: return &H<Op, int32_t>::Run;
    case Cls::kU32: return &H<Op, uint32_t>::Run;
    case Cls::kI64: return &H<Op, int64_t>::Run;
    case Cls::kU64: return &H<Op, uint64_t>::Run;
    default: return nullptr;
  }
}
template <template <typename, typename> class H, typename Op>
Fn PickAny(Cls c) {
  if (c == Cls::kF32) return &H<Op, float>::Run;
  if (c == Cls::kF64) return &H<Op, double>::Run;
  return PickInt<H, Op>(c);
}
template <typename Op, typename S>
struct OnRows {
  static void Run(Warp& w, const Ins& i) { RowBinary<Op, S>(w, i); }
};
template <typename Op, typename S>
struct DivideRows {
  static void Run(Warp& w, const Ins& i) {
    if constexpr (kInt<S>) {
      RowDivision<Op, S>(w, i);
    } else {
      RowBinary<Op, S>(w, i);
    }
  }
};
template <typename Op, typename S>
struct OnScalars {
  static void Run(Warp& w, const Ins& i) { ScalarBinary<Op, S>(w, i); }
};
template <typename Op, typename S>
struct DivideScalars {
  static void Run(Warp& w, const Ins& i) { ScalarDivision<Op, S>(w, i); }
};

template <template <typename, typename> class H>
Fn PickIntOp(BinOp op, Cls c) {
  switch (op) {
    case BinOp::kBitAnd:
    case BinOp::kAnd: return PickInt<H, BitAnd>(c);
    case BinOp::kBitOr:
    case BinOp::kOr: return PickInt<H, BitOr>(c);
    case BinOp::kBitXor: return PickInt<H, BitXor>(c);
    case BinOp::kShl: return PickInt<H, Shl>(c);
    case BinOp::kShr: return PickInt<H, Shr>(c);
    default: return nullptr;
  }
}

}  // namespace

Cls ClassOf(DType t) {
  if (IsFloat(t)) return t.bits == 64 ? Cls::kF64 : Cls::kF32;
  if (IsSigned(t)) return t.bits == 64 ? Cls::kI64 : Cls::kI32;
  return t.bits == 64 ? Cls::kU64 : Cls::kU32;
}

Fn BinaryFn(BinOp op, Cls c) {
  switch (op) {
    case BinOp::kAdd: return PickAny<OnRows, Add>(c);
    case BinOp::kSub: return PickAny<OnRows, Sub>(c);
    case BinOp::kMul: return PickAny<OnRows, Mul>(c);
    case BinOp::kDiv: return PickAny<DivideRows, Div>(c);
    case BinOp::kFloorDiv: return PickAny<DivideRows, FDiv>(c);
    case BinOp::kFloorMod: return PickAny<DivideRows, FMod>(c);
    case BinOp::kTruncDiv: return PickAny<DivideRows, TDiv>(c);
    case BinOp::kTruncMod: return PickAny<DivideRows, TMod>(c);
    case BinOp::kMin: return PickAny<OnRows, Min>(c);
    case BinOp::kMax: return PickAny<OnRows, Max>(c);
    case BinOp::kEQ: return PickAny<OnRows, Eq>(c);
    case BinOp::kNE: return PickAny<OnRows, Ne>(c);
    case BinOp::kLT: return PickAny<OnRows, Lt>(c);
    case BinOp::kLE: return PickAny<OnRows, Le>(c);
    case BinOp::kGT: return PickAny<OnRows, Gt>(c);
    case BinOp::kGE: return PickAny<OnRows, Ge>(c);
    default: return PickIntOp<OnRows>(op, c);
  }
}

Fn ScalarBinaryFn(BinOp op, Cls c) {
  switch (op) {
    case BinOp::kAdd: return PickInt<OnScalars, Add>(c);
    case BinOp::kSub: return PickInt<OnScalars, Sub>(c);
    case BinOp::kMul: return PickInt<OnScalars, Mul>(c);
    case BinOp::kFloorDiv: return PickInt<DivideScalars, FDiv>(c);
    case BinOp::kFloorMod: return PickInt<DivideScalars, FMod>(c);
    case BinOp::kTruncDiv: return PickInt<DivideScalars, TDiv>(c);
    case BinOp::kTruncMod: return PickInt<DivideScalars, TMod>(c);
    case BinOp::kMin: return PickInt<OnScalars, Min>(c);
    case BinOp::kMax: return PickInt<OnScalars, Max>(c);
    case BinOp::kEQ: return PickInt<OnScalars, Eq>(c);
    case BinOp::kNE: return PickInt<OnScalars, Ne>(c);
    case BinOp::kLT: return PickInt<OnScalars, Lt>(c);
    case BinOp::kLE: return PickInt<OnScalars, Le>(c);
    case BinOp::kGT: return PickInt<OnScalars, Gt>(c);
    case BinOp::kGE: return PickInt<OnScalars, Ge>(c);
    default: return PickIntOp<OnScalars>(op, c);
  }
}

void Splat32(Warp& w, const Ins& i) {
  std::fill_n(w.Row<uint32_t>(i.d), kLanes, static_cast<uint32_t>(w.s[i.a]));
}
void Splat64(Warp& w, const Ins& i) {
  std::fill_n(w.Row<uint64_t>(i.d), kLanes, static_cast<uint64_t>(w.s[i.a]));
}
void Move32(Warp& w, const Ins& i) {
  std::copy_n(w.Row<uint32_t>(i.a), kLanes, w.Row<uint32_t>(i.d));
}
void Move64(Warp& w, const Ins& i) {
  std::copy_n(w.Row<uint64_t>(i.a), kLanes, w.Row<uint64_t>(i.d));
}
void MoveMasked32(Warp& w, const Ins& i) {
  if (w.Full()) return Move32(w, i);
  ForLanes(w.mask, [&](int l) { w.Row<uint32_t>(i.d)[l] = w.Row<uint32_t>(i.a)[l]; });
}
void MoveMasked64(Warp& w, const Ins& i) {
  ForLanes(w.mask, [&](int l) { w.Row<uint64_t>(i.d)[l] = w.Row<uint64_t>(i.a)[l]; });
}

namespace {
template <typename S>
void BlendRows(Warp& w, const Ins& i) {
  const uint32_t* a = w.Row<uint32_t>(i.a);
  const S *b = w.Row<S>(i.b), *c = w.Row<S>(i.c);
  S* d = w.Row<S>(i.d);
  for (int l = 0; l < kLanes; ++l) d[l] = a[l] ? b[l] : c[l];
}
}  // namespace

void Blend32(Warp& w, const Ins& i) { BlendRows<uint32_t>(w, i); }
void Blend64(Warp& w, const Ins& i) { BlendRows<uint64_t>(w, i); }
void NotRow(Warp& w, const Ins& i) {
  for (int l = 0; l < kLanes; ++l) w.Row<uint32_t>(i.d)[l] = w.Row<uint32_t>(i.a)[l] == 0;
}
void ScalarMove(Warp& w, const Ins& i) { w.s[i.d] = w.s[i.a]; }
void ScalarNot(Warp& w, const Ins& i) { w.s[i.d] = w.s[i.a] == 0; }
void ScalarSelect(Warp& w, const Ins& i) { w.s[i.d] = w.s[w.s[i.a] ? i.b : i.c]; }

uint32_t RowMask(const uint32_t* row) {
  uint32_t m = 0;
  for (int l = 0; l < kLanes; ++l) m |= static_cast<uint32_t>(row[l] != 0) << l;
  return m;
}

}  // namespace sim
}  // namespace tirx
