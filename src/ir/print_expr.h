/*!
 * Expressions as text of the script language (private to this room).
 */
#ifndef TIRX_SRC_IR_PRINT_EXPR_H_
#define TIRX_SRC_IR_PRINT_EXPR_H_
#include <tirx/expr/functor.h>
#include <tirx/ir/buffer.h>
#include <tirx/layout/layout.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "names.h"

namespace tirx {

inline std::string_view View(const ffi::String& s) { return {s.data(), s.size()}; }

/*! Binding strength of Python's operators, weakest first. */
enum class Prec : uint8_t {
  kAny,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kAtom,
};

/*!
 * Appends expressions and values to `line_`. Two properties matter to whoever parses the text:
 *
 * Literals. Python folds `7 // 0` and `1.0 + 2.0` before IR sees them, and the literal rule gives a
 * bare literal the dtype of its neighbour. So a literal is bare only beside a non-literal operand
 * of its dtype, or where int32 and float32 are the default; elsewhere it is T.int64(7).
 *
 * Depth. Python nests at most 200 brackets, expressions are up to 1,000 levels deep, and shared
 * subexpressions could make text exponential. Where the text would nest too deep or repeat a large
 * shared part, Hoist gives the part a name instead.
 */
class ExprPrinter {
 public:
  explicit ExprPrinter(size_t limit) : limit_(limit) {}
  virtual ~ExprPrinter() = default;

 protected:
  /*! What a literal may rely on where it stands. */
  enum class Literal : uint8_t {
    kDefault,  //!< an int or float becomes int32 or float32
    kAdapts,   //!< it takes the dtype it has (beside a non-literal, or a stored value)
    kExplicit  //!< a Python number would stay one, or be folded away
  };

  void Expr(const PrimExpr& e, Prec prec = Prec::kAny, Literal literal = Literal::kDefault);
  void ExprList(const ffi::Array<PrimExpr>& a);
  /*! `(a, b)`, `(a,)`, `()`. */
  void Tuple(const ffi::Array<PrimExpr>& a);
  void Indices(const ffi::Array<PrimExpr>& a);
  void Region(const BufferRegion& r);
  void RangeSlice(const Range& r);
  void LayoutText(const Layout& layout);
  /*! A constant, node or container as a Python expression; numbers stay Python numbers. */
  void Value(const ffi::Any& v);
  /*! `key=value` pairs, sorted by key; `comma` goes before the first. */
  void Keywords(const ffi::Map<ffi::String, ffi::Any>& m, const char* comma);
  void Dict(const ffi::Map<ffi::Any, ffi::Any>& m);
  const std::string& NameOf(const Var& v) { return names_.Of(v.get(), View(v->name)); }
  const std::string& NameOf(const Buffer& b) { return names_.Of(b.get(), View(b->name)); }
  /*! A name for `e`, defined before the statement being printed; empty: print it in place. */
  virtual std::string Hoist(const PrimExpr& e) { return ""; }
  bool Full() const { return line_.size() > limit_; }
  /*! Expr, in place in any case. */
  void Dispatch(const PrimExpr& e, Prec prec, Literal literal);

  size_t limit_;
  std::string line_;
  NameTable names_;
  int brackets_{0};
  static constexpr int kMaxBrackets = 30;
  /*! Parts of the current statement that occur more than once and are large. */
  std::unordered_set<const PrimExprNode*> shared_;

 private:
  bool TryHoist(const PrimExpr& e);
  void IntLiteral(const IntImmNode* n, Literal literal);
  void FloatLiteral(const FloatImmNode* n, Literal literal);
  void Infix(const BinaryNode* n, Prec prec);
  void Operands(const BinaryNode* n, const char* symbol, Prec own);
  void Prefix(const char* text, Prec own, const PrimExpr& a, Prec prec);
  void CallText(const CallNode* n, Prec prec);
  void Arguments(const std::string& name, const ffi::Array<PrimExpr>& args);
  bool UserCall(const CallNode* n);
  bool InstructionCall(const CallNode* n);
  void GeneralCall(const CallNode* n);
  void Other(const PrimExpr& e);
  void Function(const std::string& name, std::initializer_list<PrimExpr> args);
  void Iters(const ffi::Array<Iter>& iters);
  void Object(const ffi::Any& v);
  void Open(const std::string& text);
  void Close(const char* text);
};

/*! A Python string literal with the value `s`. */
std::string Quote(std::string_view s);
/*! The shortest Python float literal that reads back as v. */
std::string FloatText(double v);

}  // namespace tirx
#endif  // TIRX_SRC_IR_PRINT_EXPR_H_
