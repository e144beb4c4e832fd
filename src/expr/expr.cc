#include <tirx/expr/expr.h>
#include <tirx/expr/ops.h>
#include <tirx/support/diag.h>
#include <tvm/ffi/function.h>

#include <limits>

#include "promote.h"

namespace tvm {
namespace ffi {
using Traits = TypeTraits<tirx::PrimExpr>;
tirx::PrimExpr Traits::ConvertFallbackValue(StrictBool v) {
  return tirx::IntImm(tirx::kBool, static_cast<bool>(v) ? 1 : 0);
}
tirx::PrimExpr Traits::ConvertFallbackValue(int64_t v) { return tirx::PrimExpr(v); }
tirx::PrimExpr Traits::ConvertFallbackValue(double v) { return tirx::FloatImm(tirx::kFloat32, v); }
tirx::PrimExpr Traits::ConvertFallbackValue(String v) { return tirx::StringImm(std::move(v)); }
}  // namespace ffi
}  // namespace tvm

namespace tirx {

PrimExpr::PrimExpr(int64_t v)
    : PrimExpr(ffi::ObjectPtr<PrimExprNode>(ffi::make_object<IntImmNode>(
          v >= std::numeric_limits<int32_t>::min() && v <= std::numeric_limits<int32_t>::max()
              ? kInt32
              : kInt64,
          v))) {}

IntImm::IntImm(DType t, int64_t v) : PrimExpr(ffi::UnsafeInit{}) {
  if (t.lanes != 1 || !(IsInteger(t) || IsBool(t))) {
    Diag("type", "not-an-integer-type", {})
        .Message("an integer constant needs a scalar integer dtype")
        .Found(DTypeName(t))
        .Required("int8..int64, uint8..uint64 or bool")
        .Throw();
  }
  bool any_bits = IsUnsigned(t) && t.bits == 64;
  if (!any_bits && (v < MinValue(t) || v > MaxValue(t))) {
    Diag("type", "constant-out-of-range", {})
        .Message("the constant does not fit its dtype")
        .Found(std::to_string(v))
        .Required("a value of " + DTypeName(t) + ", from " + std::to_string(MinValue(t)) + " to " +
                  std::to_string(MaxValue(t)))
        .Throw();
  }
  data_ = ffi::make_object<IntImmNode>(t, v);
}

FloatImm::FloatImm(DType t, double v) : PrimExpr(ffi::UnsafeInit{}) {
  if (t.lanes != 1 || !IsFloat(t)) {
    Diag("type", "not-a-float-type", {})
        .Message("a floating constant needs a scalar float dtype")
        .Found(DTypeName(t))
        .Required("a float dtype")
        .Throw();
  }
  data_ = ffi::make_object<FloatImmNode>(t, v);
}

Call::Call(DType t, ffi::String op, ffi::Array<PrimExpr> args,
           ffi::Map<ffi::String, ffi::Any> attrs, Span span)
    : PrimExpr(ffi::UnsafeInit{}) {
  auto n = ffi::make_object<CallNode>();
  n->dtype = t;
  n->op = std::move(op);
  n->args = std::move(args);
  n->attrs = std::move(attrs);
  n->span = std::move(span);
  ExprMeasure measure;
  measure.AddList(n->args);
  if (!n->attrs.empty()) measure.AddValue(n->attrs, n->span);
  measure.Finish(n.get(), n->span);
  data_ = std::move(n);
}

Range::Range(PrimExpr min, PrimExpr extent) : ObjectRef(ffi::UnsafeInit{}) {
  CheckIndex("the start of a range", min, min->span);
  CheckIndex("the extent of a range", extent, extent->span);
  MatchOperands("range", &min, &extent, min->span);
  auto n = ffi::make_object<RangeNode>();
  n->min = std::move(min);
  n->extent = std::move(extent);
  data_ = std::move(n);
}

namespace {

struct BinOpInfo {
  const char* name;
  const char* symbol;
};
constexpr BinOpInfo kBinOps[kNumBinOps] = {
    {"add", "+"},         {"sub", "-"},         {"mul", "*"},          {"div", "/"},
    {"floordiv", "//"},   {"floormod", "%"},    {"truncdiv", nullptr}, {"truncmod", nullptr},
    {"min", nullptr},     {"max", nullptr},     {"eq", "=="},          {"ne", "!="},
    {"lt", "<"},          {"le", "<="},         {"gt", ">"},           {"ge", ">="},
    {"and", "and"},       {"or", "or"},         {"bitwise_and", "&"},  {"bitwise_or", "|"},
    {"bitwise_xor", "^"}, {"shift_left", "<<"}, {"shift_right", ">>"},
};

}  // namespace

const char* BinOpName(BinOp op) { return kBinOps[static_cast<int>(op)].name; }
const char* BinOpSymbol(BinOp op) { return kBinOps[static_cast<int>(op)].symbol; }

}  // namespace tirx
