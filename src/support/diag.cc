#include <tirx/support/diag.h>
#include <tirx/support/diag_code.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/json.h>

namespace tirx {
namespace {

ffi::json::Value SpanJson(const Span& span) {
  if (!span.defined()) return nullptr;
  return ffi::json::Array{span->file, span->line, span->column, span->end_line, span->end_column};
}

}  // namespace

void Diag::Throw() const {
  ffi::json::Array notes;
  for (const auto& [span, text] : notes_) {
    notes.push_back(ffi::json::Array{SpanJson(span), ffi::String(text)});
  }
  ffi::json::Object payload;
  payload.Set("family", ffi::String(family_));
  payload.Set("code", ffi::String(code_));
  payload.Set("message", ffi::String(message_));
  payload.Set("found", ffi::String(found_));
  payload.Set("required", ffi::String(required_));
  payload.Set("hint", ffi::String(hint_));
  payload.Set("span", SpanJson(span_));
  payload.Set("notes", notes);
  throw ffi::Error("TirxError", std::string(ffi::json::Stringify(payload)), "");
}

std::string DiagCode(const ffi::Error& error) {
  if (error.kind() != "TirxError") return "";
  auto payload = ffi::json::Parse(ffi::String(error.message())).cast<ffi::json::Object>();
  return std::string(payload.at(ffi::String("code")).cast<ffi::String>());
}

}  // namespace tirx
