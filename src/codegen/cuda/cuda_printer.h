/*!
 * The CUDA printer: one object prints one kernel. Expressions are appended to the text of the
 * current statement; `level` is the binding strength that the context needs, below which an
 * expression is put in parentheses.
 */
#ifndef TIRX_CODEGEN_CUDA_CUDA_PRINTER_H_
#define TIRX_CODEGEN_CUDA_CUDA_PRINTER_H_
#include <tirx/arith/analyzer.h>
#include <tirx/codegen/cuda.h>
#include <tirx/codegen/printer.h>
#include <tirx/ir/functor.h>
#include <tirx/ir/instr.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "usage.h"

namespace tirx {
namespace codegen {

/*! Binding strength in C, weakest first. The right operand of a left-grouping operator needs one more
 *  than its strength: the odd numbers between. */
enum Level : int {
  kComma = 0,
  kAssign = 2,
  kSelect = 4,
  kOr = 6,
  kAnd = 8,
  kBitOr = 10,
  kBitXor = 12,
  kBitAnd = 14,
  kEquality = 16,
  kRelation = 18,
  kShift = 20,
  kSum = 22,
  kProduct = 24,
  kUnary = 26,
  kPrimary = 28,
};

/*! Replaces the launch ids, which arith does not know, by variables with their ranges. */
class LaunchIds : public ExprMutator {
 public:
  LaunchIds(const arith::Analyzer& analyzer, const LaunchPlan& launch);

 protected:
  PrimExpr VisitCall(const Call& e) override;

 private:
  Var IdOf(const std::string& key, int64_t extent);
  arith::Analyzer analyzer_;
  LaunchPlan launch_;
  std::map<std::string, Var> ids_;
};

/*! A C string literal. */
std::string QuotedString(const std::string& s);
/*! Name of the inline function of an asm instruction:
 *  "ptx.mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" -> "mma_m16n8k16_f32_f16_f16_f32". */
std::string FunctionName(const std::string& instr);
/*! `text` with {i} replaced by args[i] and {*} by `all`. */
std::string FillTemplate(const std::string& text, const std::vector<std::string>& args,
                         const std::string& all);

class CudaPrinter {
 public:
  CudaPrinter(const Kernel& kernel, const Target& target, const CudaOptions& options);
  std::string Print();

 private:
  // ---- kernel.cc: the translation unit and the signature ----
  void PrintSignature();
  std::string Parameter(const Var& var, const ffi::Optional<Buffer>& buffer);
  std::string Heading() const;
  void ReserveFunctions(const std::string& op);

  // ---- stmt.cc ----
  void PrintStmt(const Stmt& s);
  void PrintSequence(const SeqStmtNode* n);
  void PrintBlock(const Stmt& s);
  void PrintBind(const BindNode* n);
  void PrintAlloc(const AllocBufferNode* n, const BufferStoreNode* first_store);
  void PrintDecl(const DeclBufferNode* n);
  void PrintStore(const BufferStoreNode* n);
  void NibbleStore(const BufferStoreNode* n);
  void PrintFor(const ForNode* n);
  void PrintWhile(const WhileNode* n);
  void PrintIf(const IfThenElseNode* n);
  void PrintAssert(const AssertNode* n);
  void PrintEvaluate(const EvaluateNode* n);
  void Finish(const Span& span);
  bool IsScalar(const BufferNode* b) const;
  std::string SharedStorage(const Buffer& b, const std::string& name);
  std::string PointerType(const Var& v);

  // ---- expr.cc ----
  void Expr(const PrimExpr& e, int level);
  void Binary(const BinaryNode* n, int level);
  void Infix(const BinaryNode* n, const char* symbol, int strength, int level);
  void Division(const BinaryNode* n, int level);
  void MinMax(const BinaryNode* n, int level);
  static bool IsNarrow(DType t);
  void SelectExpr(const SelectNode* n, int level);
  void CastExpr(const CastNode* n, int level);
  void Operand(const PrimExpr& e, int level, const PrimExpr& sibling);
  void Call(const CallNode* n, int level);
  void Intrinsic(const CallNode* n, int level);
  void MathInFloat(const CallNode* n, const std::string& name, int level);
  void Reinterpret(const CallNode* n, int level);
  void FuncCall(const CallNode* n);
  bool NonNegative(const PrimExpr& e);
  void Wrapped(const std::string& text, int strength, int level);
  /*! The text of e alone. */
  std::string Text(const PrimExpr& e, int level);
  void Arguments(const ffi::Array<PrimExpr>& args);

  // ---- buffer.cc: names of storage, scalar and vector accesses ----
  std::string BaseOf(const Buffer& b);
  void Element(const Buffer& b, const ffi::Array<PrimExpr>& indices, int level);
  std::string AddressOf(const Buffer& b, const PrimExpr& index);
  bool IsConstStorage(const Buffer& b);

  // ---- vector.cc ----
  void VectorLoad(const BufferLoadNode* n, int level);
  std::string VectorType(DType t);
  void VectorStore(const BufferStoreNode* n);
  void VectorExpr(const PrimExpr& e, int level);
  void VectorBinary(const BinaryNode* n, int level);
  void LaneWise(const PrimExpr& e);
  PrimExpr OnOneLane(const PrimExpr& e, const std::function<PrimExpr(const PrimExpr&)>& lane);

  // ---- instr.cc ----
  void Instruction(const CallNode* n, const InstrNode* instr, int level);
  std::string InlineFunction(const InstrNode* instr, const CallNode* n);
  std::string InstrArgument(const InstrNode* instr, const CallNode* n, size_t i);
  size_t WrittenArguments(const InstrNode* instr, const CallNode* n);

  // ---- pieces that are printed at most once, before the kernel ----
  void Include(const std::string& header) { includes_.insert(header); }
  void Helper(const std::string& name, const std::string& source);
  /*! One of the printer's own helper functions (helpers.cc). */
  const std::string& UseHelper(const std::string& name);

  Kernel kernel_;
  Target target_;
  CudaOptions options_;
  Usage usage_;
  arith::Analyzer analyzer_;
  LaunchIds launch_ids_;
  std::unordered_set<std::string> reserved_;
  NameTable names_;
  LineWriter out_;
  std::unordered_map<const VarNode*, std::string> vars_;
  std::vector<Var> kept_;  //!< keeps the keys of vars_ that the printer made alive
  /*! Data variable -> the buffer that owns the storage (parameter or allocation). */
  std::unordered_map<const VarNode*, Buffer> owners_;
  std::unordered_map<const BufferNode*, std::string> aliases_;
  bool initialised_ = false;  //!< PrintAlloc printed the first store too
  int64_t arena_align_ = 0;   //!< 0: no dynamic shared memory
  std::set<std::string> includes_;
  std::vector<std::string> helpers_;  //!< sources in order
  std::set<std::string> helper_names_;
  std::map<std::string, std::string>
      inline_functions_;  //!< key of an asm instruction -> its function
};

}  // namespace codegen
}  // namespace tirx
#endif  // TIRX_CODEGEN_CUDA_CUDA_PRINTER_H_
