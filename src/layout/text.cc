/*!
 * Layouts and their numbers as text. The layout notation reads back through tirx.layout.
 */
#include <tirx/expr/functor.h>

#include "form.h"

namespace tirx {
namespace layout {
namespace {

/*! Enough of an expression to recognise it: variables, integers, operators; always parenthesised.
 */
std::string Inner(const PrimExpr& e) {
  if (auto v = AsInt(e)) return std::to_string(*v);
  if (auto* n = e.as<VarNode>()) return std::string(n->name);
  if (auto* n = e.as<CastNode>()) return DTypeName(n->dtype) + "(" + Inner(n->value) + ")";
  if (auto* n = e.as<CallNode>()) return std::string(n->op) + "(...)";
  auto* n = e.as<BinaryNode>();
  if (!n) return "<expression>";
  std::string a = Inner(n->a), b = Inner(n->b);
  if (const char* symbol = BinOpSymbol(n->kind())) return "(" + a + " " + symbol + " " + b + ")";
  return std::string(BinOpName(n->kind())) + "(" + a + ", " + b + ")";
}

std::string StrideText(const Step& s) {
  std::string axis = s.axis == kMemoryAxis ? "" : "@" + GetAxis(s.axis).name;
  return Text(s.stride) + axis;
}

template <typename Get>
std::string TupleText(const std::vector<Step>& steps, Get get) {
  std::string out;
  for (const Step& s : steps) out += (out.empty() ? "" : ", ") + get(s);
  return steps.size() == 1 ? out : "(" + out + ")";
}

}  // namespace

std::string Text(const PrimExpr& e) {
  std::string out = Inner(e);
  return out.size() > 200 ? out.substr(0, 200) + "..." : out;
}

std::string Text(const Num& a) { return a.IsConst() ? std::to_string(a.value()) : Text(a.expr()); }

std::string Text(const Step& s) { return Text(s.extent) + ":" + StrideText(s); }

std::string Text(const std::vector<Step>& steps) {
  return TupleText(steps, [](const Step& s) { return Text(s.extent); }) + ":" +
         TupleText(steps, StrideText);
}

std::string Text(const Form& f) {
  std::string out = "S[" + Text(f.shard) + "]";
  if (!f.replica.empty()) out += " + R[" + Text(f.replica) + "]";
  for (const auto& [axis, value] : f.offset) {
    out += " + " + Text(value) + (axis == kMemoryAxis ? "" : "@" + GetAxis(axis).name);
  }
  return out;
}

}  // namespace layout
}  // namespace tirx
