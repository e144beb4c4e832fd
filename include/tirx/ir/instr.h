/*!
 * The instruction table as C++ sees it. Declarations are written in Python
 * (targets/<name>/instructions/) and arrive here on first use through the hook
 * "tx.instr_lookup"; printer, verifier and simulator read this one table.
 */
#ifndef TIRX_IR_INSTR_H_
#define TIRX_IR_INSTR_H_
#include <tirx/expr/expr.h>
#include <tirx/ir/target.h>

namespace tirx {

/*!
 * One operand, in the order of the call's arguments.
 * space: "reg" (a value, or the place a BufferLoad names), "imm" (an integer constant), "shared",
 *   "global", "generic", "tmem" (a pointer or address into that space), "str", or, last, "rest"
 *   (any number of further values).
 * access: what the instruction does with a "reg" place or through the pointer: "r", "w", "rw".
 * dtype: of the value, or of what the pointer points to (a handle: untyped memory). An unsigned
 *   integer also accepts other values of its width, which are passed bit for bit. void: any scalar.
 * otherwise: the value of a trailing operand that the caller left out.
 */
class InstrOperandNode : public ffi::Object {
 public:
  ffi::String name;
  DType dtype{kUInt32};
  ffi::String space;
  ffi::String access;
  ffi::Optional<PrimExpr> otherwise;
  bool Writes() const { return access == "w" || access == "rw"; }
  bool Reads() const { return access != "w"; }
  bool IsPointer() const {
    return space != "reg" && space != "imm" && space != "str" && space != "rest";
  }
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.InstrOperand", InstrOperandNode, ffi::Object);
};
class InstrOperand : public ffi::ObjectRef {
 public:
  explicit InstrOperand(ffi::ObjectPtr<InstrOperandNode> n) : ObjectRef(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(InstrOperand, ffi::ObjectRef, InstrOperandNode);
};

class InstrNode : public ffi::Object {
 public:
  ffi::String name;  //!< as in Call.op: "ptx.<dotted>" or "cuda.<helper>"
  ffi::Array<InstrOperand> operands;
  DType result{kVoid};               //!< dtype of the call's value
  int32_t result_of{-1};             //!< >= 0: the call's value has the dtype of that operand
  ffi::Array<ffi::String> features;  //!< all required of the target
  ffi::String form;                  //!< "asm": text is inline PTX; "cuda": a C++ expression
  /*! {0}, {1}, ... stand for the operands, {r} for the result, {*} for all operands separated by
   *  commas. An "asm" instruction is printed as a call of an inline function of its own. */
  ffi::String text;
  ffi::String helper;                //!< C++ source needed once per file, or empty
  ffi::Array<ffi::String> includes;  //!< headers needed, e.g. "cuda_fp16.h"
  /*! "pure": a function of its operands; "memory": reads/writes through pointers; "barrier":
   *  orders memory; "async": completes later; "convergent": needs the whole team. */
  ffi::Array<ffi::String> effects;
  ffi::String team;  //!< who must execute it together: "thread", "warp", "warpgroup", "cta"
  ffi::String sim;   //!< name of the meaning in src/sim/ops, or "" = unsupported
  ffi::Map<ffi::String, ffi::Any>
      sim_attrs;            //!< parameters of the meaning, e.g. {"m": 16, "k": 16}
  ffi::String unsupported;  //!< why there is no simulator meaning
  /*! Whether a call only computes its value: no effects and no operand that it writes. */
  bool IsPure() const;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.Instr", InstrNode, ffi::Object);
};
class Instr : public ffi::ObjectRef {
 public:
  explicit Instr(ffi::ObjectPtr<InstrNode> n) : ObjectRef(std::move(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Instr, ffi::ObjectRef, InstrNode);
};

/*! Adds or replaces a declaration. */
void RegisterInstr(const Instr& instr);
/*! The declaration of `name`, asking the Python tables once per unknown name; null when none. */
const InstrNode* FindInstr(const ffi::String& name);
/*! FindInstr, raising "unknown-instruction" with the nearest names when there is none. */
const InstrNode* RequireInstr(const ffi::String& name, const Span& span);

/*!
 * The call of an instruction as the script writes it: operands left out are filled in, literals
 * take the operand's dtype, and arity, immediates, destinations, dtypes and memory spaces are
 * checked. Raises "unknown-instruction" (with the nearest names) and "instr-*" errors.
 */
Call MakeInstrCall(const ffi::String& name, const ffi::Array<PrimExpr>& args,
                   const ffi::Map<ffi::String, ffi::Any>& attrs = {}, Span span = {});

/*! Raises the target error "missing-feature" when the target lacks a capability of the instruction. */
void CheckInstrTarget(const InstrNode* instr, const Target& target, const Span& span);

}  // namespace tirx
#endif  // TIRX_IR_INSTR_H_
