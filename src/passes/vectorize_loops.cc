#include <tirx/expr/ops.h>
#include <tirx/passes/vectorize_loops.h>

#include <bit>
#include <string>
#include <unordered_map>
#include <vector>

#include "known_facts.h"
#include "purity.h"

namespace tirx {
namespace passes {
namespace {

constexpr int64_t kMaxVectorBytes = 16;
constexpr int64_t kMaxUnrolled = 16;

/*! One access of the body that is executed in every iteration. */
struct Access {
  Buffer buffer;
  PrimExpr index;  //!< with the lets of the body replaced
  const ffi::Object* node;
  bool store;
  int64_t width{1};
};

/*! Collects the unconditional accesses of a loop body, and what stands against vectorizing it. */
class Survey : public StmtVisitor {
 public:
  std::vector<Access> accesses;
  std::string obstacle;
  /*! How often each storage is accessed, conditional accesses included. */
  std::unordered_map<const VarNode*, int> touches, writes;

  void Run(const Stmt& body) {
    if (LeavesLoop(body)) obstacle = "its body leaves the loop";
    VisitStmt(body);
  }

 protected:
  void VisitBind(const BindNode* n) override {
    StmtVisitor::VisitBind(n);
    if (depth_ == 0) lets_.Set(n->var, Resolve(n->value));
  }
  void VisitBufferLoad(const BufferLoadNode* n) override {
    Note(n->buffer, n->indices, n, false);
    StmtVisitor::VisitBufferLoad(n);
  }
  void VisitBufferStore(const BufferStoreNode* n) override {
    StmtVisitor::VisitBufferStore(n);
    Note(n->buffer, n->indices, n, true);
  }
  void VisitCall(const CallNode* n) override {
    if (!CanDrop(GetRef<PrimExpr>(n)) || n->op == "tx.address_of") {
      obstacle = "its body calls " + std::string(n->op);
    }
    StmtVisitor::VisitCall(n);
  }
  void VisitSelect(const SelectNode* n) override {
    VisitExpr(n->cond);
    Nested nested(this);
    VisitExpr(n->true_value);
    VisitExpr(n->false_value);
  }
  void VisitBinary(const BinaryNode* n) override {
    if (!IsLogical(n->kind())) return StmtVisitor::VisitBinary(n);
    VisitExpr(n->a);
    Nested nested(this);
    VisitExpr(n->b);
  }
  void VisitIfThenElse(const IfThenElseNode* n) override {
    VisitExpr(n->cond);
    Nested nested(this);
    VisitStmt(n->then_case);
    if (n->else_case.has_value()) VisitStmt(n->else_case.value());
  }
  void VisitFor(const ForNode* n) override {
    Nested nested(this);
    StmtVisitor::VisitFor(n);
  }
  void VisitWhile(const WhileNode* n) override {
    obstacle = "its body has a while loop";
    Nested nested(this);
    StmtVisitor::VisitWhile(n);
  }
  void VisitAssert(const AssertNode* n) override {
    obstacle = "its body has an assertion";
    StmtVisitor::VisitAssert(n);
  }
  void VisitAllocBuffer(const AllocBufferNode* n) override { obstacle = "its body allocates"; }

 private:
  struct Nested {
    explicit Nested(Survey* s) : survey(s) { ++survey->depth_; }
    ~Nested() { --survey->depth_; }
    Survey* survey;
  };
  PrimExpr Resolve(const PrimExpr& e) const { return lets_.empty() ? e : Substitute(e, lets_); }
  void Note(const Buffer& b, const ffi::Array<PrimExpr>& indices, const ffi::Object* node,
            bool store) {
    ++touches[b->data.get()];
    if (store) ++writes[b->data.get()];
    bool scalar = indices.size() == 1 && indices[0].dtype().lanes == 1;
    if (depth_ == 0 && scalar) accesses.push_back({b, Resolve(indices[0]), node, store});
  }
  int depth_{0};
  ffi::Map<Var, PrimExpr> lets_;
};

bool HasLoads(const PrimExpr& e) {
  struct Finder : StmtVisitor {
    bool found = false;
    void VisitBufferLoad(const BufferLoadNode*) override { found = true; }
  } finder;
  finder(e);
  return finder.found;
}

/*! The loop variable replaced by `iteration`, staged accesses by elements of local arrays. */
class LaneBody : public StmtMutator {
 public:
  LaneBody(const Var& v, PrimExpr iteration, PrimExpr lane)
      : var_(v), iteration_(std::move(iteration)), lane_(std::move(lane)) {}
  std::unordered_map<const ffi::Object*, Buffer> staged;

 protected:
  Buffer VisitBuffer(const Buffer& b) override { return b; }
  PrimExpr VisitVar(const Var& v) override { return v.same_as(var_) ? iteration_ : PrimExpr(v); }
  PrimExpr VisitBufferLoad(const BufferLoad& e) override {
    auto it = staged.find(e.get());
    if (it != staged.end()) return BufferLoad(it->second, {lane_}, e->span);
    return StmtMutator::VisitBufferLoad(e);
  }
  Stmt VisitBufferStore(const BufferStore& s) override {
    auto it = staged.find(s.get());
    if (it == staged.end()) return StmtMutator::VisitBufferStore(s);
    return MakeBufferStore(it->second, VisitExpr(s->value), {lane_}, s->span);
  }

 private:
  Var var_;
  PrimExpr iteration_, lane_;
};

class Vectorizer : public FactMutator {
 public:
  using FactMutator::FactMutator;

 protected:
  Stmt VisitFor(const For& s) override {
    if (s->kind == "parallel") return Scalar(s, "a parallel loop runs in each thread", false);
    if (s->kind != "vectorized") return FactMutator::VisitFor(s);
    auto extent = AsInt(s->extent);
    if (!extent) return Scalar(s, "its extent is not a constant", false);
    Survey survey;
    survey.Run(s->body);
    if (!survey.obstacle.empty()) return Scalar(s, survey.obstacle, *extent <= kMaxUnrolled);
    int64_t width = ChooseWidths(s, *extent, &survey);
    if (width == 1) {
      return Scalar(s, "no access is contiguous, aligned and independent", *extent <= kMaxUnrolled);
    }
    return Chunks(s, *extent / width, width, survey.accesses);
  }

 private:
  Stmt Scalar(const For& s, const std::string& why, bool unroll) {
    Stmt loop = FactMutator::VisitFor(GetRef<For>(
        MakeFor(s->loop_var, s->min, s->extent, "serial", s->body, {}, s->span).as<ForNode>()));
    auto* n = loop.as<ForNode>();
    if (n == nullptr) return loop;
    ffi::Map<ffi::String, ffi::Any> annotations = s->annotations;
    if (s->kind == "vectorized")
      annotations.Set("tirx.note", ffi::String("not vectorized: " + why));
    return MakeFor(n->loop_var, n->min, n->extent, unroll ? "unroll" : "serial", n->body,
                   annotations, n->span);
  }

  /*! Sets the width of every access; returns the number of iterations done at once. */
  int64_t ChooseWidths(const For& s, int64_t extent, Survey* survey) {
    std::vector<Access>& accesses = survey->accesses;
    for (Access& a : accesses) {
      if (MayMove(a, *survey)) a.width = WidthOf(s, extent, a);
    }
    int64_t together = IsMove(s, accesses) ? accesses[0].width : 1;
    for (const Access& a : accesses) together = std::min(together, a.width);
    int64_t most = 1;
    for (Access& a : accesses) {
      // Elements of local arrays become registers: only a plain move has vectors of them.
      if (together > 1)
        a.width = together;
      else if (a.buffer->scope == "local")
        a.width = 1;
      most = std::max(most, a.width);
    }
    return most;
  }

  /*! dst[i] = src[i], or dst[i] = a value that does not depend on i. */
  static bool IsMove(const For& s, const std::vector<Access>& accesses) {
    auto* store = s->body.as<BufferStoreNode>();
    if (store == nullptr || accesses.empty() || accesses.back().node != store) return false;
    bool copies = accesses.size() == 2 && accesses[0].node == store->value.get();
    bool fills = !HasLoads(store->value) && !Uses(store->value, s->loop_var);
    return copies || fills;
  }

  /*! Whether all reads may come first and all writes last: what is written once, unconditionally,
   *  is read only by the same iteration and before. */
  bool MayMove(const Access& a, const Survey& survey) const {
    if (HasLoads(a.index) || a.buffer->dtype.bits < 8 || a.buffer->dtype.lanes != 1) return false;
    auto written = survey.writes.find(a.buffer->data.get());
    if (written == survey.writes.end()) return true;
    const Access* store = nullptr;
    for (const Access& other : survey.accesses) {
      if (other.store && other.buffer.same_as(a.buffer)) store = &other;
    }
    if (written->second != 1 || store == nullptr) return false;
    int ordered = 0;
    for (const Access& other : survey.accesses) {
      ordered += other.buffer.same_as(a.buffer) && &other <= store &&
                 analyzer().CanProveEqual(other.index, store->index);
    }
    return ordered == survey.touches.at(a.buffer->data.get());
  }

  /*! The most iterations whose elements are one aligned run of memory. */
  int64_t WidthOf(const For& s, int64_t extent, const Access& a) {
    int64_t bytes = a.buffer->dtype.bits / 8;
    int64_t aligned = a.buffer->align != 0 ? a.buffer->align : kMaxVectorBytes;
    for (int64_t w = kMaxVectorBytes / bytes; w > 1; w /= 2) {
      if (extent % w == 0 && aligned % (w * bytes) == 0 && IsRun(s, extent, a.index, w)) return w;
    }
    return 1;
  }

  bool IsRun(const For& s, int64_t extent, const PrimExpr& index, int64_t w) {
    Var chunk("chunk", s->loop_var->dtype);
    analyzer().Bind(chunk, Range(0, PrimExpr(extent / w)));
    auto at = [&](int64_t lane) {
      PrimExpr i = s->min + chunk * PrimExpr(w) + PrimExpr(lane);
      return Substitute(index, {{s->loop_var, i}});
    };
    PrimExpr first = at(0);
    if (analyzer().Divisor(first) % w != 0) return false;
    for (int64_t lane = 1; lane < w; ++lane) {
      if (!analyzer().CanProveEqual(at(lane), first + PrimExpr(lane))) return false;
    }
    return true;
  }

  /*! The loop over groups of `width` iterations. */
  Stmt Chunks(const For& s, int64_t count, int64_t width, const std::vector<Access>& accesses) {
    Var chunk(s->loop_var->name, s->loop_var->dtype);
    PrimExpr first = s->min;
    if (count > 1) first = first + chunk * PrimExpr(width);
    analyzer().Bind(chunk, Range(0, PrimExpr(count)));
    bool move = IsMove(s, accesses) && accesses[0].width == width && accesses.back().width == width;
    Stmt body = move ? Move(s, first, width, accesses) : Staged(s, first, width, accesses);
    if (count == 1) return body;
    bool unroll = count <= kMaxUnrolled;
    return MakeFor(chunk, 0, PrimExpr(count), unroll ? "unroll" : "serial", body, s->annotations,
                   s->span);
  }

  PrimExpr IndexAt(const For& s, const Access& a, const PrimExpr& first, int64_t lane) const {
    PrimExpr at = Substitute(a.index, {{s->loop_var, first + PrimExpr(lane)}});
    return analyzer().Simplify(at);
  }

  PrimExpr RampAt(const PrimExpr& base, int64_t w) const {
    return MakeRamp(base, MakeConst(base.dtype(), 1), static_cast<int>(w));
  }

  Stmt Move(const For& s, const PrimExpr& first, int64_t w, const std::vector<Access>& accesses) {
    auto* store = s->body.as<BufferStoreNode>();
    PrimExpr value = MakeBroadcast(store->value, static_cast<int>(w));
    if (accesses.size() == 2) {
      const Access& a = accesses[0];
      value = BufferLoad(a.buffer, {RampAt(IndexAt(s, a, first, 0), w)}, store->value->span);
    }
    PrimExpr index = RampAt(IndexAt(s, accesses.back(), first, 0), w);
    return MakeBufferStore(store->buffer, value, {index}, store->span);
  }

  static bool Uses(const PrimExpr& e, const Var& v) {
    struct Finder : StmtVisitor {
      const VarNode* wanted;
      bool found = false;
      void VisitVar(const VarNode* n) override { found = found || n == wanted; }
    } finder;
    finder.wanted = v.get();
    finder(e);
    return finder.found;
  }

  /*! Vector loads into local arrays, the body over their elements, vector stores. */
  Stmt Staged(const For& s, const PrimExpr& first, int64_t width,
              const std::vector<Access>& accesses) {
    ffi::Array<Stmt> before, after;
    Var lane("lane", s->loop_var->dtype);
    LaneBody body(s->loop_var, first + lane, lane);
    for (const Access& a : accesses) {
      if (a.width == 1) continue;
      Buffer stage = StageFor(a, width);
      body.staged.emplace(a.node, stage);
      before.push_back(MakeAllocBuffer(stage, s->span));
      for (int64_t at = 0; at < width; at += a.width) {
        PrimExpr there = RampAt(IndexAt(s, a, first, at), a.width);
        PrimExpr here = RampAt(PrimExpr(at), a.width);
        if (a.store) {
          after.push_back(MakeBufferStore(a.buffer, BufferLoad(stage, {here}), {there}, s->span));
        } else {
          before.push_back(MakeBufferStore(stage, BufferLoad(a.buffer, {there}), {here}, s->span));
        }
      }
    }
    before.push_back(MakeFor(lane, 0, PrimExpr(width), "unroll", body(s->body), {}, s->span));
    before.insert(before.end(), after.begin(), after.end());
    return MakeSeq(before);
  }

  static Buffer StageFor(const Access& a, int64_t width) {
    Var data(a.buffer->name, kHandle, PointerType(a.buffer->dtype, "local"));
    int align = static_cast<int>(a.width * a.buffer->dtype.bits / 8);
    return Buffer(a.buffer->name + "_vec", data, {PrimExpr(width)}, a.buffer->dtype, {}, "local", 0,
                  align);
  }
};

}  // namespace

PrimFunc VectorizeLoops(const PrimFunc& func) {
  Vectorizer vectorize(func);
  return RewriteDevice(func, [&](const Stmt& s) { return vectorize(s); });
}

}  // namespace passes
}  // namespace tirx
