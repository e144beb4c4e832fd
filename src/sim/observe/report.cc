/*!
 * Findings and counters as JSON.
 */
#include <tirx/sim/observe.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/json.h>

namespace tirx {
namespace sim {
namespace {

namespace json = ffi::json;

json::Value SpanJson(const Program& p, int32_t loc) {
  const Span& s = p.spans[loc];
  if (!s.defined()) return nullptr;
  return json::Array{s->file, s->line, s->column, s->end_line, s->end_column};
}

json::Object FindingJson(const Program& p, const Finding& f) {
  json::Array notes;
  for (const auto& [loc, text] : f.notes)
    notes.push_back(json::Array{SpanJson(p, loc), ffi::String(text)});
  json::Object o;
  o.Set("code", ffi::String(f.code));
  o.Set("message", ffi::String(f.message));
  o.Set("found", ffi::String(f.found));
  o.Set("required", ffi::String(f.required));
  o.Set("hint", ffi::String(f.hint));
  o.Set("span", SpanJson(p, f.loc));
  o.Set("notes", notes);
  return o;
}

void Put(json::Object* o, const char* key, uint64_t v) { o->Set(key, static_cast<int64_t>(v)); }

void PutLine(json::Object* o, const LineCount& c) {
  if (c.requests) {
    Put(o, "requests", c.requests);
    Put(o, "sectors", c.sectors);
    Put(o, "bytes", c.bytes);
  }
  if (c.shared_requests) {
    Put(o, "shared_requests", c.shared_requests);
    Put(o, "wavefronts", c.wavefronts);
    Put(o, "bank_conflicts", c.wavefronts - c.ideal_wavefronts);
    Put(o, "shared_bytes", c.shared_bytes);
  }
}

LineCount Sum(const Machine& m, int write) {
  LineCount t;
  for (const auto& line : m.counters.lines) t.Add(line[write]);
  return t;
}

json::Object MemoryJson(const LineCount& c, bool shared) {
  json::Object o;
  LineCount part;
  if (shared) {
    part.shared_requests = c.shared_requests ? c.shared_requests : 1;
    part.wavefronts = c.wavefronts;
    part.ideal_wavefronts = c.ideal_wavefronts;
    part.shared_bytes = c.shared_bytes;
    PutLine(&o, part);
    Put(&o, "shared_requests", c.shared_requests);
  } else {
    Put(&o, "requests", c.requests);
    Put(&o, "sectors", c.sectors);
    Put(&o, "bytes", c.bytes);
  }
  return o;
}

json::Array LinesJson(const Machine& m) {
  json::Array out;
  for (size_t loc = 0; loc < m.counters.lines.size(); ++loc) {
    for (int write = 0; write < 2; ++write) {
      const LineCount& c = m.counters.lines[loc][write];
      if (!c.requests && !c.shared_requests) continue;
      json::Object o;
      o.Set("span", SpanJson(*m.prog, static_cast<int32_t>(loc)));
      o.Set("access", ffi::String(write ? "store" : "load"));
      PutLine(&o, c);
      out.push_back(o);
    }
  }
  return out;
}

json::Object WidthsJson(const Machine& m) {
  static constexpr const char* kNames[] = {"ld.global", "st.global", "ld.shared", "st.shared"};
  json::Object out;
  for (int k = 0; k < 4; ++k) {
    json::Object o;
    for (int b = 0; b < 8; ++b) {
      if (m.counters.widths[k][b]) Put(&o, std::to_string(1 << b).c_str(), m.counters.widths[k][b]);
    }
    if (o.size()) out.Set(kNames[k], o);
  }
  return out;
}

json::Object CountersJson(const Machine& m) {
  json::Object instructions, out;
  uint64_t by_kind[kNumKinds] = {};
  for (size_t i = 0; i < m.counters.executed.size(); ++i) {
    by_kind[static_cast<int>(m.prog->code[i].kind)] += m.counters.executed[i];
  }
  for (int k = 1; k < kNumKinds; ++k) {
    if (by_kind[k]) Put(&instructions, KindName(static_cast<Kind>(k)), by_kind[k]);
  }
  out.Set("instructions", instructions);
  LineCount load = Sum(m, 0), store = Sum(m, 1);
  out.Set("global_load", MemoryJson(load, false));
  out.Set("global_store", MemoryJson(store, false));
  out.Set("shared_load", MemoryJson(load, true));
  out.Set("shared_store", MemoryJson(store, true));
  out.Set("widths", WidthsJson(m));
  Put(&out, "barrier_waits", m.counters.barrier_waits);
  Put(&out, "async_copies", m.counters.async_copies);
  out.Set("lines", LinesJson(m));
  return out;
}

}  // namespace

const char* KindName(Kind k) {
  static constexpr const char* kNames[kNumKinds] = {
      "none",    "int",       "fp32",      "fp64",      "convert",   "math",   "local",
      "control", "ld.global", "st.global", "ld.shared", "st.shared", "atomic", "mma",
      "shuffle", "barrier",   "async",     "matrix",    "other"};
  return kNames[static_cast<int>(k)];
}

std::string ReportJson(const Machine& m) {
  json::Object out;
  json::Array findings;
  for (const Finding& f : m.findings) findings.push_back(FindingJson(*m.prog, f));
  out.Set("kernel", ffi::String(m.prog->name));
  out.Set("findings", findings);
  out.Set("suppressed", static_cast<int64_t>(m.suppressed));
  Put(&out, "ctas", m.serial);
  out.Set("printed", ffi::String(m.printed));
  if (m.opt.counters) out.Set("counters", CountersJson(m));
  return std::string(json::Stringify(out));
}

}  // namespace sim
}  // namespace tirx
