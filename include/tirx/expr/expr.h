/*!
 * Expressions without buffers: the nodes that arith and layout reason about.
 *
 * Nodes are immutable. They are built through the checked factories in ops.h (which also apply
 * the literal and promotion rules and fold constants), never by filling fields, so that
 * parse(print(e)) rebuilds the same node. Every node knows its height (`depth`) and the number of
 * nodes of its tree (`size`); a factory refuses to build past kMaxExprDepth, which keeps every
 * recursive walk inside the stack, and past kMaxExprSize, which keeps it short.
 */
#ifndef TIRX_EXPR_EXPR_H_
#define TIRX_EXPR_EXPR_H_
#include <tirx/expr/dtype.h>
#include <tirx/support/ref.h>
#include <tirx/support/span.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <utility>

namespace tirx {
namespace refl = tvm::ffi::reflection;

/*! Tallest expression that can be built. The FFI's own walks overflow near 3,000 levels. */
constexpr int32_t kMaxExprDepth = 1000;
/*! Largest expression, counted as a tree: a shared subexpression counts at each of its uses,
 *  because every walk visits it there. x = x + x, forty times, is refused and does not hang. */
constexpr int32_t kMaxExprSize = 1 << 20;

/*! What a pointer variable points to: element type and memory scope ("global", "shared", ...). */
class PointerTypeNode : public ffi::Object {
 public:
  DType element{kUInt8};
  ffi::String scope{"global"};
  PointerTypeNode() = default;
  PointerTypeNode(DType e, ffi::String s) : element(e), scope(std::move(s)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.PointerType", PointerTypeNode, ffi::Object);
};
class PointerType : public ffi::ObjectRef {
 public:
  PointerType(DType e, ffi::String s)
      : ObjectRef(ffi::make_object<PointerTypeNode>(e, std::move(s))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(PointerType, ffi::ObjectRef, PointerTypeNode);
};

/*! Base of all expressions: a value of `dtype`. Python may derive from it (no virtuals). */
class PrimExprNode : public ffi::Object {
 public:
  DType dtype{kInt32};
  Span span;
  int32_t depth{1};
  int32_t size{1};
  PrimExprNode() = default;
  explicit PrimExprNode(DType t) : dtype(t) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr uint32_t _type_child_slots = 24;
  TVM_FFI_DECLARE_OBJECT_INFO("tx.PrimExpr", PrimExprNode, ffi::Object);
};
class PrimExpr : public ffi::ObjectRef {
 public:
  PrimExpr(int64_t v);                                    // NOLINT: int literals convert
  PrimExpr(int v) : PrimExpr(static_cast<int64_t>(v)) {}  // NOLINT
  explicit PrimExpr(ffi::ObjectPtr<PrimExprNode> n) : ObjectRef(std::move(n)) {}
  DType dtype() const { return get()->dtype; }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(PrimExpr, ffi::ObjectRef, PrimExprNode);
};

}  // namespace tirx

// bool / int / float / str become expressions at every FFI boundary: arguments, fields, array
// elements. The specialisation must precede the first Array<PrimExpr> of a translation unit.
namespace tvm {
namespace ffi {
template <>
inline constexpr bool use_default_type_traits_v<tirx::PrimExpr> = false;
template <>
struct TypeTraits<tirx::PrimExpr>
    : public ObjectRefWithFallbackTraitsBase<tirx::PrimExpr, StrictBool, int64_t, double, String> {
  static tirx::PrimExpr ConvertFallbackValue(StrictBool v);
  static tirx::PrimExpr ConvertFallbackValue(int64_t v);
  static tirx::PrimExpr ConvertFallbackValue(double v);
  static tirx::PrimExpr ConvertFallbackValue(String v);
};
}  // namespace ffi
}  // namespace tvm

namespace tirx {

/*! A scalar (or pointer) variable, compared by where it is bound. Its name is a hint. */
class VarNode : public PrimExprNode {
 public:
  ffi::String name;
  /*! Set exactly when dtype is a handle with a known target. */
  PointerType pointer;
  VarNode() = default;
  VarNode(ffi::String n, DType t, PointerType p)
      : PrimExprNode(t), name(std::move(n)), pointer(std::move(p)) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Var", VarNode, PrimExprNode);
};
class Var : public PrimExpr {
 public:
  explicit Var(ffi::String name, DType t = kInt32, PointerType p = {})
      : PrimExpr(ffi::make_object<VarNode>(std::move(name), t, std::move(p))) {}
  explicit Var(ffi::ObjectPtr<VarNode> n) : PrimExpr(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Var, PrimExpr, VarNode);
};

/*! Integer or bool constant. uint64 values above INT64_MAX are stored as their two's complement. */
class IntImmNode : public PrimExprNode {
 public:
  int64_t value{0};
  IntImmNode() = default;
  IntImmNode(DType t, int64_t v) : PrimExprNode(t), value(v) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.IntImm", IntImmNode, PrimExprNode);
};
class IntImm : public PrimExpr {
 public:
  /*! Raises a type error when t is no scalar integer or v is out of its range. */
  IntImm(DType t, int64_t v);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(IntImm, PrimExpr, IntImmNode);
};

/*! Floating constant: the double nearest to the user's literal; a use rounds it to dtype. */
class FloatImmNode : public PrimExprNode {
 public:
  double value{0};
  FloatImmNode() = default;
  FloatImmNode(DType t, double v) : PrimExprNode(t), value(v) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.FloatImm", FloatImmNode, PrimExprNode);
};
class FloatImm : public PrimExpr {
 public:
  FloatImm(DType t, double v);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(FloatImm, PrimExpr, FloatImmNode);
};

/*! A string argument of a call (dtype handle). */
class StringImmNode : public PrimExprNode {
 public:
  ffi::String value;
  StringImmNode() : PrimExprNode(kHandle) {}
  explicit StringImmNode(ffi::String v) : PrimExprNode(kHandle), value(std::move(v)) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.StringImm", StringImmNode, PrimExprNode);
};
class StringImm : public PrimExpr {
 public:
  explicit StringImm(ffi::String v) : PrimExpr(ffi::make_object<StringImmNode>(std::move(v))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(StringImm, PrimExpr, StringImmNode);
};

/*!
 * Binary operators. kFloorDiv/kFloorMod round towards minus infinity (Python's // and %);
 * kTruncDiv/kTruncMod towards zero (C's); kDiv is the float quotient. Comparisons and the logical
 * pair yield bool; kAnd/kOr do not evaluate the right operand when the left decides. Signed integer
 * arithmetic must not overflow in a legal program; unsigned arithmetic wraps.
 */
// clang-format off
enum class BinOp : int32_t {
  kAdd, kSub, kMul, kDiv, kFloorDiv, kFloorMod, kTruncDiv, kTruncMod, kMin, kMax,
  kEQ, kNE, kLT, kLE, kGT, kGE, kAnd, kOr,
  kBitAnd, kBitOr, kBitXor, kShl, kShr,
};
// clang-format on
constexpr int kNumBinOps = static_cast<int>(BinOp::kShr) + 1;
inline bool IsComparison(BinOp op) { return op >= BinOp::kEQ && op <= BinOp::kGE; }
inline bool IsLogical(BinOp op) { return op == BinOp::kAnd || op == BinOp::kOr; }
/*! "add", "floordiv", ...: the name in the script language (T.<name>) and in errors. */
const char* BinOpName(BinOp op);
/*! The infix spelling of the script language, or nullptr (min, max, truncdiv, truncmod). */
const char* BinOpSymbol(BinOp op);

/*! op(a, b); a and b have the same dtype (the result is bool for comparisons). */
class BinaryNode : public PrimExprNode {
 public:
  int32_t op{0};
  PrimExpr a{ffi::UnsafeInit{}};
  PrimExpr b{ffi::UnsafeInit{}};
  BinOp kind() const { return static_cast<BinOp>(op); }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Binary", BinaryNode, PrimExprNode);
};
class Binary : public PrimExpr {
 public:
  explicit Binary(ffi::ObjectPtr<BinaryNode> n) : PrimExpr(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Binary, PrimExpr, BinaryNode);
};

/*! Logical negation of a bool. (Arithmetic negation is 0 - x or a negative literal.) */
class NotNode : public PrimExprNode {
 public:
  PrimExpr a{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Not", NotNode, PrimExprNode);
};
class Not : public PrimExpr {
 public:
  explicit Not(ffi::ObjectPtr<NotNode> n) : PrimExpr(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Not, PrimExpr, NotNode);
};

/*! cond ? t : f. Only the chosen arm is evaluated, so an arm may guard its own loads. */
class SelectNode : public PrimExprNode {
 public:
  PrimExpr cond{ffi::UnsafeInit{}};
  PrimExpr true_value{ffi::UnsafeInit{}};
  PrimExpr false_value{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Select", SelectNode, PrimExprNode);
};
class Select : public PrimExpr {
 public:
  explicit Select(ffi::ObjectPtr<SelectNode> n) : PrimExpr(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Select, PrimExpr, SelectNode);
};

/*! Conversion: nearest even between floats, float to int truncates, int to int wraps. */
class CastNode : public PrimExprNode {
 public:
  PrimExpr value{ffi::UnsafeInit{}};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Cast", CastNode, PrimExprNode);
};
class Cast : public PrimExpr {
 public:
  explicit Cast(ffi::ObjectPtr<CastNode> n) : PrimExpr(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Cast, PrimExpr, CastNode);
};

/*! The vector base, base + stride, ..., base + (lanes-1)*stride. As an index: a vector access. */
class RampNode : public PrimExprNode {
 public:
  PrimExpr base{ffi::UnsafeInit{}};
  PrimExpr stride{ffi::UnsafeInit{}};
  int32_t lanes{1};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Ramp", RampNode, PrimExprNode);
};
class Ramp : public PrimExpr {
 public:
  explicit Ramp(ffi::ObjectPtr<RampNode> n) : PrimExpr(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Ramp, PrimExpr, RampNode);
};

/*! The vector value, value, ... (lanes times). */
class BroadcastNode : public PrimExprNode {
 public:
  PrimExpr value{ffi::UnsafeInit{}};
  int32_t lanes{1};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Broadcast", BroadcastNode, PrimExprNode);
};
class Broadcast : public PrimExpr {
 public:
  explicit Broadcast(ffi::ObjectPtr<BroadcastNode> n) : PrimExpr(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Broadcast, PrimExpr, BroadcastNode);
};

/*!
 * A call by name: a hardware instruction ("ptx.ldmatrix....", "cuda.cta_sync"), a math function
 * ("tx.exp2") or a compiler intrinsic ("tx.address_of"). Destination operands of instructions are
 * arguments like the others (a BufferLoad names the place written); which ones are written, and
 * whether the call has effects, is said by the instruction table, or, for "tx." names, by ops.h.
 */
class CallNode : public PrimExprNode {
 public:
  ffi::String op;
  ffi::Array<PrimExpr> args;
  ffi::Map<ffi::String, ffi::Any> attrs;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Call", CallNode, PrimExprNode);
};
class Call : public PrimExpr {
 public:
  Call(DType t, ffi::String op, ffi::Array<PrimExpr> args,
       ffi::Map<ffi::String, ffi::Any> attrs = {}, Span span = {});
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Call, PrimExpr, CallNode);
};

/*! [min, min + extent); both of one scalar integer dtype. */
class RangeNode : public ffi::Object {
 public:
  PrimExpr min{ffi::UnsafeInit{}};
  PrimExpr extent{ffi::UnsafeInit{}};
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Range", RangeNode, ffi::Object);
};
class Range : public ffi::ObjectRef {
 public:
  Range(PrimExpr min, PrimExpr extent);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Range, ffi::ObjectRef, RangeNode);
};

}  // namespace tirx
#endif  // TIRX_EXPR_EXPR_H_
