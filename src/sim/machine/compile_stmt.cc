/*!
 * Statements to bytecode.
 */
#include <tirx/sim/access.h>
#include <tirx/sim/compile.h>
#include <tirx/sim/control.h>
#include <tirx/support/diag.h>

#include <algorithm>

namespace tirx {
namespace sim {
namespace {

template <typename T>
const T* Down(const Stmt& s) {
  return static_cast<const T*>(s.get());
}

/*! Whether break or continue of this loop (not of a nested one) occurs; and how many statements. */
class BodyScan : public StmtVisitor {
 public:
  bool leaves = false;
  int64_t statements = 0;
  void VisitStmt(const Stmt& s) override {
    ++statements;
    StmtVisitor::VisitStmt(s);
  }

 protected:
  void VisitBreak(const BreakNode*) override { leaves = leaves || loops_ == 0; }
  void VisitContinue(const ContinueNode*) override { leaves = leaves || loops_ == 0; }
  void VisitFor(const ForNode* n) override {
    Nested([&] { StmtVisitor::VisitFor(n); });
  }
  void VisitWhile(const WhileNode* n) override {
    Nested([&] { StmtVisitor::VisitWhile(n); });
  }

 private:
  template <typename F>
  void Nested(F f) {
    ++loops_;
    f();
    --loops_;
  }
  int loops_ = 0;
};

BodyScan Scan(const Stmt& body) {
  BodyScan scan;
  scan.VisitStmt(body);
  return scan;
}

/*! Loops marked "unroll" are unrolled up to this many statements, so that indices of local arrays
 *  become constants. */
constexpr int64_t kUnrollStatements = 4096;

}  // namespace

void Compiler::NotNative(const std::string& what) {
  Diag("verify", "not-native", span_)
      .Message("the simulator runs native-stage IR")
      .Found(what)
      .Required("IR that went through the lowering pipeline")
      .Hint("tirx.pipeline.build_kernel(func, target) lowers a function")
      .Throw();
}

void Compiler::Run() {
  p_->spans.push_back(Span(ffi::ObjectPtr<SpanNode>(nullptr)));
  PlaceShared();
  DefineParams();
  CompileStmt(p_->kernel->device->body);
  Emit(&Exit, Kind::kNone);
}

void Compiler::DefineParams() {
  const PrimFunc& f = p_->kernel->device;
  p_->param_access.resize(f->params.size());
  for (size_t i = 0; i < f->params.size(); ++i) {
    const Var& v = f->params[i];
    int32_t s = NewScalar();
    p_->param_scalar.push_back(s);
    p_->params.push_back(v);
    p_->param_names.push_back(std::string(v->name));
    if (i < f->param_buffers.size() && f->param_buffers[i].has_value()) {
      Buffer b = f->param_buffers[i].value();
      p_->param_names.back() = std::string(b->name);
      Storage st{Storage::kGlobal};
      st.param = static_cast<int32_t>(i);
      st.name = std::string(b->name);
      storage_[b->data.get()] = st;
      storage_[v.get()] = st;
    } else if (IsFloat(v->dtype)) {
      Val bits = Rows(Val{RowsOf(v->dtype) == 2 ? kUInt64 : kUInt32, true, s});
      vars_[v.get()] = Val{v->dtype, false, bits.reg};
    } else {
      vars_[v.get()] = Val{v->dtype, true, s};
    }
  }
}

void Compiler::CompileStmt(const Stmt& s) {
  if (s->span.defined()) {
    span_ = s->span;
    loc_ = LocOf(s->span);
  }
  int32_t rows = next_row_, scalars = next_scalar_;
  switch (KindOf(s)) {
    case StmtKind::kSeqStmt: CompileSeq(Down<SeqStmtNode>(s)); break;
    case StmtKind::kBind: CompileBind(Down<BindNode>(s)); return;
    case StmtKind::kAllocBuffer: CompileAlloc(Down<AllocBufferNode>(s)); return;
    case StmtKind::kDeclBuffer: RefOf(Down<DeclBufferNode>(s)->buffer); return;
    case StmtKind::kBufferStore: CompileStore(Down<BufferStoreNode>(s)); break;
    case StmtKind::kEvaluate: Expr(Down<EvaluateNode>(s)->value); break;
    case StmtKind::kFor: CompileFor(Down<ForNode>(s)); break;
    case StmtKind::kWhile: CompileWhile(Down<WhileNode>(s)); break;
    case StmtKind::kBreak: CompileLeave(true); break;
    case StmtKind::kContinue: CompileLeave(false); break;
    case StmtKind::kIfThenElse: CompileIf(Down<IfThenElseNode>(s)); break;
    case StmtKind::kAssert: CompileAssert(Down<AssertNode>(s)); break;
    default: NotNative("a statement of type " + std::string(s->GetTypeKey()));
  }
  next_row_ = rows;
  next_scalar_ = scalars;
}

void Compiler::CompileSeq(const SeqStmtNode* n) {
  for (const Stmt& s : n->seq) CompileStmt(s);
}

void Compiler::CompileBind(const BindNode* n) {
  int32_t rows = next_row_, scalars = next_scalar_;
  Val v = Expr(n->value);
  // The value moves to the first free registers, so that temporaries of its expression are freed.
  if (v.uniform) {
    if (v.reg >= scalars && v.reg != scalars) Emit(&ScalarMove, Kind::kNone, scalars, v.reg);
    next_scalar_ = v.reg >= scalars ? scalars + 1 : scalars;
    if (v.reg >= scalars) v.reg = scalars;
    next_row_ = rows;
  } else {
    v = Settle(v, rows);
    KeepWarpBase(&v, scalars);
  }
  vars_[n->var.get()] = v;
}

void Compiler::KeepWarpBase(Val* v, int32_t scalars) {
  next_scalar_ = scalars;
  if (!v->warp_base || *v->warp_base < scalars) return;
  if (*v->warp_base != scalars) Emit(&ScalarMove, Kind::kNone, scalars, *v->warp_base);
  v->warp_base = scalars;
  next_scalar_ = scalars + 1;
}

/*! Copies v's rows down to `row` when they are a temporary above it or a local array's own. */
Val Compiler::Settle(Val v, int32_t row) {
  int32_t each = RowsOf(ElementOf(v.t)), count = each * v.t.lanes;
  if (v.reg < row && !v.alias) {
    next_row_ = row;
    return v;
  }
  if (v.reg != row) {
    for (int i = 0; i < count; ++i) Emit(&Move32, Kind::kNone, row + i, v.reg + i);
  }
  next_row_ = row;
  v.reg = NewRows(count);
  v.alias = false;
  return v;
}

void Compiler::CompileAlloc(const AllocBufferNode* n) {
  const Buffer& b = n->buffer;
  Storage st{Storage::kLocal};
  st.name = std::string(b->name);
  st.bytes = AllocBytes(b);
  std::string scope(b->scope);
  if (scope == "local") {
    int32_t words = static_cast<int32_t>((st.bytes + 3) / 4);
    st.row = NewRows(words);
    p_->locals.push_back({st.name, st.row, words});
    Emit(&PoisonLocal, Kind::kNone, st.row, 0, words);
  } else if (scope == "shared" || scope == "shared.dyn") {
    st.kind = Storage::kShared;
    st.base = shared_base_.at(b.get());
    p_->shared.push_back({st.name, st.base, st.bytes, LocOf(n->span)});
  } else {
    Diag("sim", "unsupported-scope", n->span)
        .Message("the simulator cannot allocate this memory scope")
        .Found("scope \"" + scope + "\" of buffer " + st.name)
        .Required("local, shared or shared.dyn")
        .Throw();
  }
  storage_[b->data.get()] = st;
  RefOf(b);
}

namespace {
/*! Places every shared allocation of the body. */
class SharedPlacer : public StmtVisitor {
 public:
  explicit SharedPlacer(std::vector<Buffer>* out) : out_(out) {}

 protected:
  void VisitAllocBuffer(const AllocBufferNode* n) override {
    if (n->buffer->scope == "shared" || n->buffer->scope == "shared.dyn")
      out_->push_back(n->buffer);
  }

 private:
  std::vector<Buffer>* out_;
};
}  // namespace

/*! Static shared memory comes first; dynamic shared memory starts at the next multiple of 1024. */
void Compiler::PlaceShared() {
  std::vector<Buffer> all;
  SharedPlacer(&all).VisitStmt(p_->kernel->device->body);
  for (const Buffer& b : all) {
    if (b->allocated_addr.has_value()) continue;
    int64_t align = std::max<int64_t>(16, b->align);
    int64_t base = (p_->static_shared + align - 1) / align * align;
    shared_base_[b.get()] = base;
    p_->static_shared = base + AllocBytes(b);
  }
  p_->dyn_base = (p_->static_shared + 1023) / 1024 * 1024;
  p_->shared_bytes = p_->dyn_base + p_->kernel->launch->dyn_shared_bytes;
  for (const Buffer& b : all) {
    if (!b->allocated_addr.has_value()) continue;
    auto at = AsInt(b->allocated_addr.value());
    if (!at) NotNative("a shared buffer whose address is not a constant");
    shared_base_[b.get()] = p_->dyn_base + *at;
  }
}

void Compiler::CompileFor(const ForNode* n) {
  Val min = Expr(n->min), extent = Expr(n->extent);
  if (extent.k && *extent.k <= 0) return;
  if (min.k && extent.k && n->kind == "unroll") {
    BodyScan scan = Scan(n->body);
    if (!scan.leaves && *extent.k * scan.statements <= kUnrollStatements) {
      return CompileUnrolled(n, *min.k, *extent.k);
    }
  }
  if (min.uniform && extent.uniform) return CompileUniformFor(n, min, extent);
  CompileVaryingFor(n, min, extent);
}

void Compiler::CompileUnrolled(const ForNode* n, int64_t min, int64_t extent) {
  for (int64_t i = 0; i < extent; ++i) {
    vars_[n->loop_var.get()] = Constant(n->loop_var->dtype, min + i);
    CompileStmt(n->body);
  }
}

void Compiler::CompileUniformFor(const ForNode* n, const Val& min, const Val& extent) {
  DType t = n->loop_var->dtype;
  bool leaves = Scan(n->body).leaves;
  Val var{t, true, NewScalar()};
  Val end = BinaryVals(BinOp::kAdd, min, extent);
  Emit(&ScalarMove, Kind::kNone, var.reg, min.reg);
  int32_t test = Pc();
  Emit(&ForTest, Kind::kControl, 0, var.reg, end.reg);
  if (leaves) Emit(&LoopEnter, Kind::kNone);
  vars_[n->loop_var.get()] = var;
  int32_t body = Pc();
  PushGather(true);
  CompileStmt(n->body);
  PopGather(Pc());
  Emit(leaves ? &ForNextLeave : &ForNext, Kind::kControl, body, var.reg, end.reg);
  p_->code[test].d = Pc();
}

void Compiler::CompileVaryingFor(const ForNode* n, const Val& min, const Val& extent) {
  DType t = n->loop_var->dtype;
  Val end = Rows(BinaryVals(BinOp::kAdd, min, extent));
  Val var{t, false, NewRows(RowsOf(t))};
  Emit(RowsOf(t) == 2 ? &Move64 : &Move32, Kind::kNone, var.reg, Rows(min).reg);
  auto [test_fn, next_fn] = VaryingFns(ClassOf(t));
  int32_t test = Pc();
  Emit(test_fn, Kind::kControl, 0, var.reg, end.reg);
  vars_[n->loop_var.get()] = var;
  int32_t body = Pc();
  PushGather(true);
  CompileStmt(n->body);
  PopGather(Pc());
  Emit(next_fn, Kind::kControl, body, var.reg, end.reg);
  p_->code[test].d = Pc();
}

std::pair<Fn, Fn> Compiler::VaryingFns(Cls c) {
  switch (c) {
    case Cls::kI32: return {&VaryingFor<int32_t>::Test, &VaryingFor<int32_t>::Next};
    case Cls::kU32: return {&VaryingFor<uint32_t>::Test, &VaryingFor<uint32_t>::Next};
    case Cls::kI64: return {&VaryingFor<int64_t>::Test, &VaryingFor<int64_t>::Next};
    default: return {&VaryingFor<uint64_t>::Test, &VaryingFor<uint64_t>::Next};
  }
}

void Compiler::CompileWhile(const WhileNode* n) {
  p_->ordered = true;
  Emit(&LoopEnter, Kind::kNone);
  int32_t head = Pc();
  Val cond = Rows(Expr(n->cond));
  int32_t test = Pc();
  Emit(&WhileTest, Kind::kControl, 0, cond.reg);
  PushGather(true);
  CompileStmt(n->body);
  PopGather(Pc());
  Emit(&WhileNext, Kind::kControl, head);
  p_->code[test].d = Pc();
}

void Compiler::CompileLeave(bool is_break) {
  auto loop =
      std::find_if(gathers_.rbegin(), gathers_.rend(), [](const Gather& g) { return g.is_loop; });
  if (loop == gathers_.rend()) NotNative("break or continue outside a loop");
  // Frames between here and the loop's: one per enclosing varying `if`.
  int32_t inner = static_cast<int32_t>(loop - gathers_.rbegin());
  Emit(is_break ? &Break : &Continue, Kind::kControl, 0, 0, inner);
  gathers_.back().patch.push_back(Pc() - 1);
}

void Compiler::PushGather(bool is_loop) { gathers_.push_back(Gather{is_loop, {}}); }

void Compiler::PopGather(int32_t target) {
  for (int32_t ins : gathers_.back().patch) p_->code[ins].a = target;
  gathers_.pop_back();
}

void Compiler::Branch(const Val& cond, const std::function<void()>& then,
                      const std::function<void()>& other) {
  if (cond.uniform) return UniformBranch(cond, then, other);
  int32_t test = Pc();
  Emit(&IfRow, Kind::kControl, 0, cond.reg);
  PushGather(false);
  then();
  PopGather(Pc());
  if (other) {
    int32_t else_arm = Pc();
    Emit(&ElseRow, Kind::kNone);
    p_->code[test].d = else_arm;
    PushGather(false);
    other();
    PopGather(Pc());
    p_->code[else_arm].d = Pc();
  } else {
    p_->code[test].d = Pc();
  }
  Emit(&EndIf, Kind::kNone);
  if (!gathers_.empty()) gathers_.back().patch.push_back(Pc() - 1);
}

void Compiler::UniformBranch(const Val& cond, const std::function<void()>& then,
                             const std::function<void()>& other) {
  if (cond.k) {
    if (*cond.k) {
      then();
    } else if (other) {
      other();
    }
    return;
  }
  int32_t test = Pc();
  Emit(&JumpIfZero, Kind::kControl, 0, cond.reg);
  then();
  if (other) {
    int32_t skip = Pc();
    Emit(&Jump, Kind::kNone);
    p_->code[test].d = Pc();
    other();
    p_->code[skip].d = Pc();
  } else {
    p_->code[test].d = Pc();
  }
}

void Compiler::CompileIf(const IfThenElseNode* n) {
  Val cond = Expr(n->cond);
  std::function<void()> other;
  if (n->else_case.has_value()) other = [&] { CompileStmt(n->else_case.value()); };
  Branch(cond, [&] { CompileStmt(n->then_case); }, other);
}

void Compiler::CompileAssert(const AssertNode* n) {
  Val cond = Rows(Expr(n->cond));
  p_->strings.push_back(std::string(n->message));
  Emit(&AssertRow, Kind::kNone, 0, cond.reg, 0, static_cast<int32_t>(p_->strings.size()) - 1);
}

int32_t Compiler::NewRows(int n) {
  int32_t r = next_row_;
  next_row_ += n;
  p_->num_rows = std::max(p_->num_rows, next_row_);
  return r;
}

int32_t Compiler::NewScalar() {
  p_->num_scalars = std::max(p_->num_scalars, next_scalar_ + 1);
  return next_scalar_++;
}

Ins& Compiler::Emit(Fn fn, Kind kind, int32_t d, int32_t a, int32_t b, int32_t c) {
  TVM_FFI_ICHECK(fn != nullptr) << "no simulator handler for this operation";
  Ins i;
  i.fn = fn;
  i.kind = kind;
  i.d = d;
  i.a = a;
  i.b = b;
  i.c = c;
  i.loc = loc_;
  p_->code.push_back(i);
  return p_->code.back();
}

int32_t Compiler::LocOf(const Span& span) {
  if (!span.defined()) return 0;
  auto [it, fresh] = locs_.emplace(span.get(), static_cast<int32_t>(p_->spans.size()));
  if (fresh) p_->spans.push_back(span);
  return it->second;
}

}  // namespace sim
}  // namespace tirx
