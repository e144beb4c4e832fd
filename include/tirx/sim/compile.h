/*!
 * Native IR to bytecode: one walk over statements, recursion over expressions (both bounded by the
 * depth limits of the factories).
 *
 * Uniformity. Structured lockstep execution makes a value that is computed from uniform values
 * uniform among the active lanes; such integers live in scalar registers and cost one operation per
 * warp. The linear thread index is kept as "warp base + lane", so that a // 32 of it is uniform.
 */
#ifndef TIRX_SIM_COMPILE_H_
#define TIRX_SIM_COMPILE_H_
#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>
#include <tirx/sim/alu.h>
#include <tirx/sim/program.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tirx {
namespace sim {

/*! A compiled value: a scalar register, or consecutive rows (one or two per vector element). */
struct Val {
  DType t{kInt32};
  bool uniform{false};
  int32_t reg{0};
  std::optional<int64_t> k{};          //!< a known constant
  std::optional<int32_t> warp_base{};  //!< scalar register b: value = b + lane, 32 divides b
  bool alias{false};  //!< the rows are a local array's own: copy before anything is stored
};

class Compiler {
 public:
  Compiler(Program* p) : p_(p) {}
  void Run();

 private:
  [[noreturn]] void NotNative(const std::string& what);

  // compile_stmt.cc
  void PlaceShared();
  void DefineParams();
  void CompileStmt(const Stmt& s);
  void CompileSeq(const SeqStmtNode* n);
  void CompileBind(const BindNode* n);
  void KeepWarpBase(Val* v, int32_t scalars);
  Val Settle(Val v, int32_t row);
  void CompileAlloc(const AllocBufferNode* n);
  void CompileFor(const ForNode* n);
  void CompileUnrolled(const ForNode* n, int64_t min, int64_t extent);
  void CompileUniformFor(const ForNode* n, const Val& min, const Val& extent);
  void CompileVaryingFor(const ForNode* n, const Val& min, const Val& extent);
  std::pair<Fn, Fn> VaryingFns(Cls c);
  void CompileWhile(const WhileNode* n);
  void CompileLeave(bool is_break);
  void CompileIf(const IfThenElseNode* n);
  void CompileAssert(const AssertNode* n);
  /*! if cond: then() else: other(); other may be empty. */
  void Branch(const Val& cond, const std::function<void()>& then,
              const std::function<void()>& other);
  void UniformBranch(const Val& cond, const std::function<void()>& then,
                     const std::function<void()>& other);
  void PushGather(bool is_loop);
  void PopGather(int32_t target);

  // compile_expr.cc
  Val Expr(const PrimExpr& e);
  /*! Expr at the current source location. */
  Val ExprHere(const PrimExpr& e);
  Val Constant(DType t, int64_t v);
  int32_t RowConstant(uint64_t bits, bool wide);
  Val FloatConstant(DType t, double v);
  Val CompileBinary(const BinaryNode* n);
  Val BinaryVals(BinOp op, const Val& a, const Val& b);
  Val RowBinary(BinOp op, DType t, Val a, Val b);
  Val ThreadShift(BinOp op, const Val& a, int64_t c);
  Val CompileNot(const NotNode* n);
  Val CompileSelect(const SelectNode* n);
  Val CompileLogical(const BinaryNode* n);
  Val CompileRamp(const RampNode* n);
  Val CompileBroadcast(const BroadcastNode* n);
  Val Convert(const Val& v, DType to);
  Val ConvertUniform(const Val& v, DType to);
  Val ConvertElement(const Val& v, DType to);
  Val EncodeElement(const Val& a, DType to);
  /*! Only the lanes that choose an arm evaluate it. */
  Val Lazy(const Val& cond, const PrimExpr& then, const PrimExpr& other, DType t);
  Val PerElement(DType t, const std::function<Val(int)>& f);
  Val PerElementOr(DType t, const std::function<Val(int)>& f);
  Val Element(const Val& v, int i) const;
  Val Rows(const Val& v);                     //!< the value in rows (splats a scalar)
  void StoreRows(int32_t dst, const Val& v);  //!< active lanes only

  // compile_call.cc
  Val CompileCall(const CallNode* n);
  Val CompileIntrinsic(const CallNode* n, const std::string& name);
  Val CompileMath(const CallNode* n, const std::string& name);
  Val MathElement(const std::string& name, DType t, const std::vector<Val>& args);
  Val Reinterpret(const CallNode* n);
  Val AddressOf(const CallNode* n);
  Val AddressOfData(const VarNode* v);
  Val CompileInstruction(const CallNode* n);
  /*! A place that an instruction writes: rows it may write, stored afterwards unless direct. */
  struct WriteBack {
    bool direct;
    int32_t row, words;  //!< direct: local rows written
    Buffer buffer;
    PrimExpr index;
    Val value;
  };
  Operand CompileOperand(const PrimExpr& e, const InstrOperandNode* decl,
                         std::vector<WriteBack>* after);
  int32_t PointedRef(const PrimExpr& e);
  Operand ValueOperand(const PrimExpr& e, const InstrOperandNode* decl);
  Operand PlaceOperand(const BufferLoadNode* n, bool read, std::vector<WriteBack>* after);
  void AddOperands(const CallNode* n, const InstrNode* instr, OpCall* call,
                   std::vector<WriteBack>* after);
  const InstrNode* RequireInstr(const CallNode* n);

  // compile_memory.cc
  /*! Where an access goes: buffer, index of its first element, elements. */
  struct Place {
    int32_t ref;
    Val index;
    int lanes;
  };
  Val CompileLoad(const BufferLoadNode* n);
  void CompileStore(const BufferStoreNode* n);
  int32_t RefOf(const Buffer& b);
  MemRef MakeRef(const Buffer& b);
  Place PlaceOf(const Buffer& b, const ffi::Array<PrimExpr>& indices);
  Val LoadPlace(const Place& p, DType t);
  void StorePlace(const Place& p, Val value);
  std::optional<int32_t> DirectRow(const Place& p) const;
  void EmitAccess(Fn fn, Kind kind, const Place& p, int32_t value_row);
  /*! Notes that a global parameter is read (1) or written (2), for MayRunInParallel. */
  void NoteAccess(int32_t ref, uint8_t access);
  void CheckLocal(int32_t row, int words, int32_t ref);
  void MarkLocal(int32_t row, int words);
  int64_t AllocBytes(const Buffer& b);

  // registers and emission; constants have negative numbers
  int32_t NewRows(int n);
  int32_t NewScalar();
  Ins& Emit(Fn fn, Kind kind, int32_t d = 0, int32_t a = 0, int32_t b = 0, int32_t c = 0);
  int32_t Pc() const { return static_cast<int32_t>(p_->code.size()); }
  int32_t LocOf(const Span& span);

  struct Storage {
    enum Kind : uint8_t { kGlobal, kShared, kLocal, kPointer } kind{kLocal};
    int32_t row{0}, param{-1};
    Val pointer{};  //!< kPointer: the address
    int64_t base{0}, bytes{0};
    std::string name{};
  };
  /*! Where lanes that left an iteration, or an `if`, meet the others again. */
  struct Gather {
    bool is_loop;
    std::vector<int32_t> patch;  //!< instructions whose field a jumps there
  };

  Program* p_;
  std::unordered_map<const VarNode*, Val> vars_;
  std::unordered_map<const VarNode*, Storage> storage_;
  std::unordered_map<const BufferNode*, int32_t> refs_;
  std::unordered_map<const BufferNode*, int64_t> shared_base_;
  std::map<int64_t, int32_t> scalar_consts_;
  std::map<std::pair<uint64_t, bool>, int32_t> row_consts_;
  std::vector<Gather> gathers_;
  std::unordered_map<const SpanNode*, int32_t> locs_;
  uint8_t pointer_access_{3};  //!< what the instruction being compiled does through its pointer
  std::vector<Buffer> keep_;   //!< buffers made here, whose address is a key
  Span span_;
  int32_t loc_{0};
  int32_t next_row_{kFirstRow};
  int32_t next_scalar_{kFirstScalar};
};

}  // namespace sim
}  // namespace tirx
#endif  // TIRX_SIM_COMPILE_H_
