/*!
 * The translation unit: headers, helpers, signature, body.
 */
#include <tirx/expr/ops.h>

#include <cctype>
#include <set>

#include "cuda_printer.h"
#include "names.h"
#include "types.h"

namespace tirx {
namespace codegen {

std::string QuotedString(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

CudaPrinter::CudaPrinter(const Kernel& kernel, const Target& target, const CudaOptions& options)
    : kernel_(kernel),
      target_(target),
      options_(options),
      usage_(FindUsage(kernel->device->body)),
      launch_ids_(analyzer_, kernel->launch),
      names_(&reserved_) {
  reserved_ = ReservedNames();
  for (const std::string& op : usage_.calls) ReserveFunctions(op);
}

/*! A user's variable must not hide a function that an instruction's text calls. */
void CudaPrinter::ReserveFunctions(const std::string& op) {
  const InstrNode* instr = FindInstr(op);
  if (!instr) {
    reserved_.insert(op);
    return;
  }
  if (instr->form == "asm") reserved_.insert(FunctionName(op));
  std::string text(instr->text), word;
  for (size_t i = 0; instr->form == "cuda" && i <= text.size(); ++i) {
    bool in_word =
        i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
    if (in_word) {
      word += text[i];
    } else if (!word.empty()) {
      reserved_.insert(word);
      word.clear();
    }
  }
}

/*! One comment line: what it is and how it is launched. */
std::string CudaPrinter::Heading() const {
  const LaunchPlanNode* launch = kernel_->launch.get();
  std::string grid;
  for (const PrimExpr& e : launch->grid) {
    auto v = AsInt(e);
    grid += (grid.empty() ? "" : " x ") + (v ? std::to_string(*v) : std::string("?"));
  }
  std::string out = "// " + std::string(kernel_->device->name) + " for " +
                    std::string(target_->kind) + "/" + std::string(target_->arch) + ": grid " +
                    grid + ", " + std::to_string(launch->threads) + " threads";
  int64_t fixed = launch->static_shared_bytes, dynamic = launch->dyn_shared_bytes;
  if (fixed + dynamic) out += ", " + std::to_string(fixed + dynamic) + " bytes of shared memory";
  return out + "\n";
}

std::string CudaPrinter::Parameter(const Var& var, const ffi::Optional<Buffer>& buffer) {
  if (!buffer.has_value()) {
    std::string name = names_.Define(std::string(var->name));
    vars_[var.get()] = name;
    return CType(var->dtype) + " " + name;
  }
  const Buffer& b = buffer.value();
  std::string name = names_.Define(std::string(b->name));
  vars_[var.get()] = vars_[b->data.get()] = name;
  owners_.insert_or_assign(b->data.get(), b);
  if (!var.same_as(b->data)) owners_.insert_or_assign(var.get(), b);
  bool constant = IsConstStorage(b) && !usage_.storage[var.get()].written;
  return (constant ? "const " : "") + StorageType(b->dtype) + " *__restrict__ " + name;
}

/*! Distinct parameters never overlap (ir/buffer.h), which is what __restrict__ says. */
void CudaPrinter::PrintSignature() {
  const PrimFuncNode* f = kernel_->device.get();
  const LaunchPlanNode* launch = kernel_->launch.get();
  std::string bounds = std::to_string(launch->threads);
  if (launch->min_blocks_per_sm) bounds += ", " + std::to_string(launch->min_blocks_per_sm);
  std::vector<std::string> params;
  size_t width = f->name.size() + 4;
  for (size_t i = 0; i < f->params.size(); ++i) {
    params.push_back(Parameter(f->params[i], f->param_buffers[i]));
    width += params.back().size() + 2;
  }
  std::string separator = width > 100 ? ",\n    " : ", ";
  std::string line = EntryName(std::string(f->name)) + (width > 100 ? "(\n    " : "(");
  for (size_t i = 0; i < params.size(); ++i) line += (i ? separator : "") + params[i];
  out_.Line("extern \"C\" __global__ void __launch_bounds__(" + bounds + ")");
  out_.Line(line + ") {");
}

std::string CudaPrinter::Print() {
  // Shape symbols are extents of tensors, checked at the call.
  for (const Var& v : kernel_->symbols) analyzer_.Bind(v, Range(0, MakeConst(v->dtype, INT32_MAX)));
  names_.Define(EntryName(std::string(kernel_->device->name)));
  PrintSignature();
  std::string signature, body;
  signature.swap(out_.text);
  out_.Indent();
  PrintStmt(kernel_->device->body);
  body.swap(out_.text);
  for (const std::string& header : usage_.headers) Include(header);

  std::string text = Heading();
  for (const std::string& header : includes_) text += "#include <" + header + ">\n";
  text += "\n";
  for (const std::string& helper : helpers_)
    text += helper + (helper.back() == '\n' ? "\n" : "\n\n");
  text += signature;
  if (arena_align_) {
    text += "  extern __shared__ __align__(" + std::to_string(arena_align_) +
            ") unsigned char smem[];\n";
  }
  return text + body + "}\n";
}

std::string CudaEntryName(const Kernel& kernel) {
  return EntryName(std::string(kernel->device->name));
}

std::string PrintCuda(const Kernel& kernel, const Target& target, const CudaOptions& options) {
  return CudaPrinter(kernel, target, options).Print();
}

}  // namespace codegen
}  // namespace tirx
