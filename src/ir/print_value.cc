/*!
 * Regions, layouts, buffers and constants as text.
 */
#include <tirx/expr/ops.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "print_expr.h"

namespace tirx {
namespace {

void Escape(unsigned char c, std::string* out) {
  static const char* const kHex = "0123456789abcdef";
  *out += "\\x";
  *out += kHex[c >> 4];
  *out += kHex[c & 15];
}

/*! Length of the UTF-8 sequence at s[i] when it is a line separator or a C1 control, else 0. */
size_t OddSeparator(std::string_view s, size_t i) {
  auto byte = [&](size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0; };
  if (byte(i) == 0xC2 && byte(i + 1) < 0xA0) return 2;
  if (byte(i) == 0xE2 && byte(i + 1) == 0x80 && (byte(i + 2) | 1) == 0xA9) return 3;
  return 0;
}

std::string UnicodeEscape(std::string_view bytes) {
  unsigned code = bytes.size() == 2 ? static_cast<unsigned char>(bytes[1])
                                    : 0x2000u + (static_cast<unsigned char>(bytes[2]) - 0x80u);
  char text[8];
  std::snprintf(text, sizeof(text), "\\u%04x", code);
  return text;
}

}  // namespace

std::string Quote(std::string_view s) {
  std::string out = "\"";
  for (size_t i = 0; i < s.size(); ++i) {
    auto c = static_cast<unsigned char>(s[i]);
    if (size_t n = OddSeparator(s, i)) {
      out += UnicodeEscape(s.substr(i, n));
      i += n - 1;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += s[i];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7F) {
      Escape(c, &out);
    } else {
      out += s[i];
    }
  }
  return out + "\"";
}

void ExprPrinter::RangeSlice(const Range& r) {
  bool simple = r->extent->depth == 1 && AsInt(r->min) && (AsInt(r->extent) || IsConst(r->min, 0));
  Expr(r->min);
  line_ += simple ? ":" : " : ";
  auto lo = AsInt(r->min), n = AsInt(r->extent);
  if (lo == 0) return Expr(r->extent);
  if (lo && n && FoldInt(BinOp::kAdd, r->min->dtype, *lo, *n)) return Expr(r->min + r->extent);
  Expr(r->min, Prec::kSum);
  line_ += " + ";
  Expr(r->extent, Prec::kProduct);
}

void ExprPrinter::Region(const BufferRegion& r) {
  line_ += NameOf(r->buffer);
  Open("[");
  size_t next = 0;
  for (size_t i = 0; i < r->region.size(); ++i) {
    if (i != 0) line_ += ", ";
    bool squeezed = next < r->squeezed.size() && r->squeezed[next] == static_cast<int64_t>(i);
    if (squeezed) ++next;
    squeezed ? Expr(r->region[i]->min) : RangeSlice(r->region[i]);
  }
  if (r->region.empty()) line_ += "()";
  Close("]");
}

// ---- layouts ----

namespace {

/*! An axis by name. T.cta_id is a scope id, so not every axis is T.<name>. */
std::string AxisText(const std::string& axis) {
  static const std::unordered_set<std::string> plain = {
      "laneid", "warpid", "wid_in_wg", "wgid", "tid_in_wg", "tx",   "cbx", "cby", "cbz",
      "bx",     "by",     "bz",        "pid",  "TLane",     "TCol", "P",   "F",   "Bank"};
  return plain.count(axis) ? "T." + axis : "T.Axis.get(" + Quote(axis) + ")";
}

}  // namespace

void ExprPrinter::Iters(const ffi::Array<Iter>& iters) {
  bool one = iters.size() == 1;
  auto list = [&](auto print) {
    if (!one) Open("(");
    const char* comma = "";
    for (const Iter& it : iters) {
      line_ += comma;
      print(it);
      comma = ", ";
    }
    if (!one) Close(")");
  };
  Open("[");
  list([&](const Iter& it) { Expr(it->extent); });
  line_ += " : ";
  list([&](const Iter& it) {
    Expr(it->stride, it->axis == "m" ? Prec::kAny : Prec::kProduct);
    if (it->axis != "m") line_ += " @ " + AxisText(std::string(it->axis));
  });
  Close("]");
}

void ExprPrinter::LayoutText(const Layout& layout) {
  if (auto* c = layout.as<ComposeLayoutNode>()) {
    line_ += "T.ComposeLayout(" + std::to_string(c->per_element) + ", " +
             std::to_string(c->swizzle_len) + ", " + std::to_string(c->atom_len) + ", ";
    LayoutText(c->tile);
    line_ += ")";
    return;
  }
  auto* t = layout.as<TileLayoutNode>();
  if (t == nullptr) {
    line_ += layout.defined() ? "<" + layout->GetTypeKey() + ">" : "None";
    return;
  }
  line_ += "T.TileLayout(T.S";
  Iters(t->shard);
  if (!t->replica.empty()) {
    line_ += " + T.R";
    Iters(t->replica);
  }
  std::vector<std::pair<std::string, PrimExpr>> offset;
  for (const auto& [axis, e] : t->offset) offset.emplace_back(std::string(axis), e);
  std::sort(offset.begin(), offset.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (const auto& [axis, e] : offset) {
    line_ += " + ";
    Expr(e, Prec::kProduct);
    if (axis != "m") line_ += " @ " + AxisText(axis);
  }
  line_ += ")";
}

// ---- constants and containers ----

void ExprPrinter::Dict(const ffi::Map<ffi::Any, ffi::Any>& m) {
  std::vector<std::pair<std::string, ffi::Any>> entries;
  for (const auto& [k, v] : m) {
    std::string saved;
    std::swap(saved, line_);
    Value(k);
    std::swap(saved, line_);
    entries.emplace_back(saved, v);
  }
  std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) { return a.first < b.first; });
  Open("{");
  const char* comma = "";
  for (const auto& [k, v] : entries) {
    line_ += comma + k + ": ";
    Value(v);
    comma = ", ";
  }
  Close("}");
}

void ExprPrinter::Keywords(const ffi::Map<ffi::String, ffi::Any>& m, const char* comma) {
  std::vector<std::pair<std::string, ffi::Any>> entries;
  for (const auto& [k, v] : m) entries.emplace_back(std::string(k), v);
  std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (const auto& [k, v] : entries) {
    line_ += comma + k + "=";
    Value(v);
    comma = ", ";
  }
}

void ExprPrinter::Value(const ffi::Any& v) {
  if (Full()) return;
  switch (v.type_index()) {
    case ffi::TypeIndex::kTVMFFINone: line_ += "None"; return;
    case ffi::TypeIndex::kTVMFFIBool: line_ += v.cast<bool>() ? "True" : "False"; return;
    case ffi::TypeIndex::kTVMFFIInt: line_ += std::to_string(v.cast<int64_t>()); return;
    case ffi::TypeIndex::kTVMFFIFloat: line_ += FloatText(v.cast<double>()); return;
    case ffi::TypeIndex::kTVMFFIDataType:
      line_ += "T.dtype(" + Quote(DTypeName(v.cast<DLDataType>())) + ")";
      return;
    default: break;
  }
  if (auto s = v.as<ffi::String>()) {
    line_ += Quote(std::string(*s));
  } else {
    Object(v);
  }
}

void ExprPrinter::Object(const ffi::Any& v) {
  if (auto* text = v.as<StringImmNode>()) {
    line_ += "T.StringImm(" + Quote(View(text->value)) + ")";
  } else if (v.as<PrimExprNode>()) {
    Expr(v.cast<PrimExpr>(), Prec::kAny, Literal::kExplicit);
  } else if (auto* r = v.as<BufferRegionNode>()) {
    Region(GetRef<BufferRegion>(r));
  } else if (auto* b = v.as<BufferNode>()) {
    line_ += NameOf(GetRef<Buffer>(b));
  } else if (auto* l = v.as<LayoutNode>()) {
    LayoutText(GetRef<Layout>(l));
  } else if (auto* g = v.as<RangeNode>()) {
    Function("T.Range", {g->min, g->extent});
  } else if (v.as<ffi::ArrayObj>()) {
    Open("[");
    const char* comma = "";
    for (const ffi::Any& item : v.cast<ffi::Array<ffi::Any>>()) {
      line_ += comma;
      Value(item);
      comma = ", ";
    }
    Close("]");
  } else if (v.as<ffi::MapObj>()) {
    Dict(v.cast<ffi::Map<ffi::Any, ffi::Any>>());
  } else {
    line_ += "<" + v.GetTypeKey() + ">";
  }
}

}  // namespace tirx
