/*!
 * Atomic read-modify-write on global and shared memory. (PTX ISA 9.7.13.5 atom, 9.7.13.6 red)
 *
 * The lanes of a warp update one after another, in lane order; scopes and orderings make no
 * difference in a machine that interleaves whole instructions. Float adds round once; min and max
 * on float32 (the CUDA helpers) order as the integer tricks of the helpers do.
 */
#include <tirx/sim/numeric.h>
#include <tirx/sim/observe.h>
#include <tirx/sim/ops.h>

#include <algorithm>
#include <cstring>

namespace tirx {
namespace sim {
namespace {

enum Op : int64_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExch, kCas, kInc, kDec };

void PrepareOp(OpCall* c) {
  static constexpr const char* kNames[] = {"add", "min",  "max", "and", "or",
                                           "xor", "exch", "cas", "inc", "dec"};
  std::string op = StrAttr(*c, "op", "add");
  c->p[0] = std::find(std::begin(kNames), std::end(kNames), op) - std::begin(kNames);
}

void PreparePtx(OpCall* c) {
  PrepareOp(c);
  c->p[1] = IntAttr(*c, "result", 1);
  c->type = tvm::ffi::StringToDLDataType(StrAttr(*c, "dtype", "uint32"));
}

template <typename T>
T UpdateInt(int64_t op, T old, T value, T compare) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case kAdd: return static_cast<T>(static_cast<U>(old) + static_cast<U>(value));
    case kMin: return std::min(old, value);
    case kMax: return std::max(old, value);
    case kAnd: return old & value;
    case kOr: return old | value;
    case kXor: return old ^ value;
    case kCas: return old == compare ? value : old;
    case kInc: return static_cast<U>(old) >= static_cast<U>(value) ? T{0} : static_cast<T>(old + 1);
    case kDec:
      return old == 0 || static_cast<U>(old) > static_cast<U>(value) ? value
                                                                     : static_cast<T>(old - 1);
    default: return value;
  }
}

uint64_t UpdateFloat(int64_t op, DType t, uint64_t old, uint64_t value) {
  double a = DecodeScalar(t, old), b = DecodeScalar(t, value);
  if (op == kMin) return b < a ? value : old;
  if (op == kMax) return a < b ? value : old;
  if (t.bits == 32) {
    return std::bit_cast<uint32_t>(static_cast<float>(a) + static_cast<float>(b));
  }
  return EncodeScalar(t, a + b);  // the sum of two halves is exact in double
}

template <typename T>
uint64_t UpdateAs(int64_t op, uint64_t old, uint64_t value, uint64_t compare) {
  return static_cast<std::make_unsigned_t<T>>(
      UpdateInt<T>(op, static_cast<T>(old), static_cast<T>(value), static_cast<T>(compare)));
}

uint64_t Update(int64_t op, DType t, uint64_t old, uint64_t value, uint64_t compare) {
  bool arithmetic = op == kAdd || op == kMin || op == kMax;
  if (IsFloat(t) && arithmetic) {
    if (t.lanes == 1) return UpdateFloat(op, t, old, value);
    DType e = ElementOf(t);
    return UpdateFloat(op, e, old & 0xffff, value & 0xffff) |
           UpdateFloat(op, e, old >> 16, value >> 16) << 16;
  }
  if (BitsOf(t) == 64) {
    return IsSigned(t) ? UpdateAs<int64_t>(op, old, value, compare)
                       : UpdateAs<uint64_t>(op, old, value, compare);
  }
  if (BitsOf(t) == 32) {
    return IsSigned(t) ? UpdateAs<int32_t>(op, old, value, compare)
                       : UpdateAs<uint32_t>(op, old, value, compare);
  }
  return IsSigned(t) ? UpdateAs<int16_t>(op, old, value, compare)
                     : UpdateAs<uint16_t>(op, old, value, compare);
}

uint64_t Bits(Warp& w, const Operand& o, int lane) {
  return BitsOf(o.dtype) > 32 ? w.Row<uint64_t>(o.row)[lane] : w.Row(o.row)[lane];
}

/*! dst < 0: no result. */
void Apply(Warp& w, const OpCall& c, int32_t loc, DType t, const Operand& address,
           const Operand& value, const Operand* compare, int32_t dst) {
  int bytes = static_cast<int>(BitsOf(t) / 8);
  Access a;
  LocateOperand(w, loc, address, bytes, true, &a, true);
  ForLanes(a.mask, [&](int l) {
    uint64_t old = 0;
    std::memcpy(&old, a.p[l], bytes);
    uint64_t next = Update(c.p[0], t, old, Bits(w, value, l), compare ? Bits(w, *compare, l) : 0);
    std::memcpy(a.p[l], &next, bytes);
    if (dst >= 0 && bytes == 8) w.Row<uint64_t>(dst)[l] = old;
    if (dst >= 0 && bytes < 8) {
      bool narrow_signed = IsSigned(t) && bytes == 2;
      w.Row(dst)[l] = narrow_signed ? static_cast<uint32_t>(static_cast<int16_t>(old))
                                    : static_cast<uint32_t>(old);
    }
  });
}

/*! cuda.atomic_*: address, [compare,] value; the old value is the result. */
void Atomic(Warp& w, const OpCall& c, int32_t loc) {
  const Operand& value = c.args.back();
  Apply(w, c, loc, value.dtype, c.args[0], value, c.args.size() > 2 ? &c.args[1] : nullptr, c.dst);
}

/*! atom: d, address, [compare,] value; red: address, value. */
void AtomicPtx(Warp& w, const OpCall& c, int32_t loc) {
  size_t first = static_cast<size_t>(c.p[1]);
  const Operand* compare = c.p[0] == kCas ? &c.args[first + 1] : nullptr;
  Apply(w, c, loc, c.type, c.args[first], c.args.back(), compare, first ? c.args[0].row : -1);
}

const RegisterMeanings kAtomics({
    {"atomic", Kind::kAtomic, &Atomic, &PrepareOp},
    {"atomic.ptx", Kind::kAtomic, &AtomicPtx, &PreparePtx},
});

}  // namespace
}  // namespace sim
}  // namespace tirx
