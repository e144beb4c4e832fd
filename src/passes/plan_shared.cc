#include <tirx/expr/ops.h>
#include <tirx/ir/functor.h>
#include <tirx/passes/plan_shared.h>
#include <tirx/support/diag.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

namespace tirx {
namespace passes {
namespace {

struct Holder {
  Buffer buffer{ffi::UnsafeInit{}};
  int64_t bytes{0};
  int64_t align{0};
  int64_t addr{-1};   //!< in dynamic shared memory; -1: static
  bool fixed{false};  //!< the user gave the address
};

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

int64_t BytesOf(const Buffer& b, const Span& span) {
  if (auto n = AsInt(b->shape[0])) return (*n * BitsOf(b->dtype) + 7) / 8;
  Diag("target", "shared-size-not-constant", span)
      .Message("the size of shared buffer '" + std::string(b->name) + "' must be constant")
      .Found("a symbolic extent")
      .Required("constant extents in shared memory")
      .Throw();
}

int64_t AlignOf(const Buffer& b, int64_t bytes) {
  // Bulk copies want 128-byte aligned tiles (PTX ISA, cp.async.bulk.tensor); scalars and barriers
  // do not pay for that.
  int64_t natural = bytes >= 128 ? 128 : 16;
  return std::max<int64_t>(b->align, natural);
}

struct Collector : StmtVisitor {
  std::vector<Holder> holders;
  std::vector<Holder> locals;  // per thread, constant sizes only: others are refused elsewhere
  void VisitExpr(const PrimExpr&) override {}
  void VisitAllocBuffer(const AllocBufferNode* n) override {
    const Buffer& b = n->buffer;
    if (b->scope == "local" && AsInt(b->shape[0])) locals.push_back({b, BytesOf(b, n->span)});
    if (b->scope != "shared" && b->scope != "shared.dyn") return;
    int64_t bytes = BytesOf(b, n->span.defined() ? n->span : b->span);
    Holder h{b, bytes, AlignOf(b, bytes), -1, false};
    if (b->allocated_addr.has_value()) Fix(&h);
    holders.push_back(h);
  }
  static void Fix(Holder* h) {
    auto addr = AsInt(h->buffer->allocated_addr.value());
    int64_t align = std::max<int64_t>(h->buffer->align, (BitsOf(h->buffer->dtype) + 7) / 8);
    if (!addr || *addr < 0 || *addr % align != 0) {
      Diag("target", "bad-shared-address", h->buffer->span)
          .Message("'" + std::string(h->buffer->name) + "' cannot be at its allocated_addr")
          .Found(addr ? "byte " + std::to_string(*addr) : std::string("a symbolic address"))
          .Required("a constant multiple of " + std::to_string(align) + " bytes")
          .Throw();
    }
    h->addr = *addr;
    h->fixed = true;
  }
};

/*! What runs out: the error's code, the memory's name, whose it is, and what helps. */
struct Memory {
  const char* code;
  const char* name;
  const char* owner;
  const char* hint;
};
constexpr Memory kShared{"shared-memory-overflow", "shared memory", "CTA",
                         "use smaller tiles or fewer pipeline stages"};
constexpr Memory kLocal{"local-memory-overflow", "private memory", "thread",
                        "share the tile out over more threads, or keep it in shared memory"};

[[noreturn]] void ThrowOverflow(const Memory& memory, const std::vector<Holder>& all, int64_t total,
                                int64_t limit, const Target& target, const PrimFunc& func) {
  std::vector<const Holder*> largest;
  for (const Holder& h : all) largest.push_back(&h);
  std::stable_sort(largest.begin(), largest.end(),
                   [](const Holder* a, const Holder* b) { return a->bytes > b->bytes; });
  if (largest.size() > 5) largest.resize(5);
  std::string list;
  for (const Holder* h : largest) {
    list +=
        (list.empty() ? "" : ", ") + std::string(h->buffer->name) + " " + std::to_string(h->bytes);
  }
  Diag diag("target", memory.code, func->span);
  diag.Message("'" + std::string(func->name) + "' needs more " + memory.name + " than " +
               std::string(target->arch) + " has")
      .Found(std::to_string(total) + " bytes; the largest holders: " + list)
      .Required("at most " + std::to_string(limit) + " bytes per " + memory.owner)
      .Hint(memory.hint);
  for (const Holder* h : largest) {
    diag.Note(h->buffer->span,
              std::string(h->buffer->name) + ": " + std::to_string(h->bytes) + " bytes");
  }
  diag.Throw();
}

/*! Static placement is the compiler's; this is what it takes at most. */
int64_t PackedBytes(const std::vector<Holder>& holders) {
  int64_t end = 0;
  for (const Holder& h : holders) end = RoundUp(end, h.align) + h.bytes;
  return end;
}

/*! Gives the holders without an address theirs, after the fixed ones; the end of all. */
int64_t Place(std::vector<Holder*> holders) {
  int64_t end = 0;
  for (Holder* h : holders) {
    if (h->fixed) end = std::max(end, h->addr + h->bytes);
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder* a, const Holder* b) { return a->align > b->align; });
  for (Holder* h : holders) {
    if (h->fixed) continue;
    h->addr = RoundUp(end, h->align);
    end = h->addr + h->bytes;
  }
  return end;
}

class Rewriter : public StmtMutator {
 public:
  explicit Rewriter(const std::vector<Holder>& holders) {
    for (const Holder& h : holders) {
      bool dyn = h.addr >= 0;
      if (dyn && h.buffer->scope == "shared") Rename(h.buffer->data);
      by_data_.emplace(h.buffer->data.get(), h);
    }
  }

 protected:
  PrimExpr VisitVar(const Var& v) override {
    auto it = renamed_.find(v.get());
    return it == renamed_.end() ? v : it->second;
  }
  Buffer VisitBuffer(const Buffer& b) override {
    auto holder = by_data_.find(b->data.get());
    if (holder == by_data_.end()) return b;
    auto done = done_.find(b.get());
    if (done != done_.end()) return done->second;
    Buffer out = Rebuild(b, holder->second);
    done_.emplace(b.get(), out);
    kept_.push_back(b);
    return out;
  }

 private:
  void Rename(const Var& data) {
    PointerType type(data->pointer.defined() ? data->pointer->element : kUInt8, "shared.dyn");
    renamed_.emplace(data.get(), Var(data->name, kHandle, type));
  }
  Buffer Rebuild(const Buffer& b, const Holder& h) const {
    auto data = renamed_.find(b->data.get());
    Var var = data == renamed_.end() ? b->data : data->second;
    ffi::Optional<PrimExpr> addr = b->allocated_addr;
    if (h.addr >= 0) addr = PrimExpr(h.addr);
    return Buffer(b->name, var, b->shape, b->dtype, b->layout,
                  h.addr >= 0 ? "shared.dyn" : b->scope, b->elem_offset, static_cast<int>(h.align),
                  addr, b->span);
  }

  std::unordered_map<const VarNode*, Holder> by_data_;
  std::unordered_map<const VarNode*, Var> renamed_;
  std::unordered_map<const BufferNode*, Buffer> done_;
  std::vector<Buffer> kept_;  // keeps the keys of done_ alive
};

/*! The buffers that live in dynamic shared memory: the user's, or all when they are too many. */
std::vector<Holder*> DynamicOf(std::vector<Holder>* holders, const Target& target) {
  std::vector<Holder> trial = *holders;
  std::vector<Holder*> everything;
  for (Holder& h : trial) everything.push_back(&h);
  bool all = Place(everything) > target->Limit("static_shared_bytes", 48 * 1024);
  std::vector<Holder*> out;
  for (Holder& h : *holders) {
    if (all || h.fixed || h.buffer->scope == "shared.dyn") out.push_back(&h);
  }
  return out;
}

void CheckLocals(const std::vector<Holder>& locals, const Target& target, const PrimFunc& func) {
  int64_t total = 0, limit = target->Limit("local_bytes_per_thread", INT64_MAX);
  for (const Holder& h : locals) total += std::min(h.bytes, INT64_MAX - total);
  if (total > limit) ThrowOverflow(kLocal, locals, total, limit, target, func);
}

}  // namespace

PrimFunc PlanShared(const PrimFunc& func, const Target& target) {
  Collector collector;
  collector(func->body);
  std::vector<Holder>& holders = collector.holders;
  int64_t dyn = Place(DynamicOf(&holders, target));
  std::vector<Holder> fixed_size;
  for (const Holder& h : holders) {
    if (h.addr < 0) fixed_size.push_back(h);
  }
  int64_t total = dyn + PackedBytes(fixed_size);
  int64_t limit = target->Limit("shared_bytes_per_cta", INT64_MAX);
  if (total > limit) ThrowOverflow(kShared, holders, total, limit, target, func);
  CheckLocals(collector.locals, target, func);
  ffi::Map<ffi::String, ffi::Any> attrs = func->attrs;
  attrs.Set("tirx.dyn_shared_bytes", dyn);
  attrs.Set("tirx.static_shared_bytes", total - dyn);
  Stmt body = holders.empty() ? func->body : Rewriter(holders)(func->body);
  return PrimFunc(func->name, func->params, func->param_buffers, body, attrs, func->span);
}

}  // namespace passes
}  // namespace tirx
