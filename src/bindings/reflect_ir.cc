/*!
 * Registers buffers, statements and functions with the FFI (compiled at -O1).
 */
#include <tirx/ir/function.h>
#include <tirx/ir/functor.h>
#include <tirx/ir/instr.h>
#include <tirx/ir/target.h>
#include <tvm/ffi/extra/dataclass.h>

namespace tirx {
namespace {
using Flag = refl::AttachFieldFlag;
}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<BufferNode>(refl::init(false))
      .def_ro("name", &BufferNode::name, Flag::SEqHashIgnore())
      .def_ro("data", &BufferNode::data, Flag::SEqHashDefPattern())
      .def_ro("shape", &BufferNode::shape, Flag::SEqHashDefPattern())
      .def_ro("dtype", &BufferNode::dtype)
      .def_ro("layout", &BufferNode::layout)
      .def_ro("scope", &BufferNode::scope)
      .def_ro("elem_offset", &BufferNode::elem_offset)
      .def_ro("align", &BufferNode::align)
      .def_ro("allocated_addr", &BufferNode::allocated_addr)
      .def_ro("span", &BufferNode::span, refl::repr(false), Flag::SEqHashIgnore());
  refl::ObjectDef<BufferLoadNode>(refl::init(false))
      .def_ro("buffer", &BufferLoadNode::buffer)
      .def_ro("indices", &BufferLoadNode::indices);
  refl::ObjectDef<BufferRegionNode>(refl::init(false))
      .def_ro("buffer", &BufferRegionNode::buffer)
      .def_ro("region", &BufferRegionNode::region)
      .def_ro("squeezed", &BufferRegionNode::squeezed)
      .def_ro("span", &BufferRegionNode::span, refl::repr(false), Flag::SEqHashIgnore());
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<StmtNode>(refl::init(false))
      .def_ro("span", &StmtNode::span, refl::repr(false), Flag::SEqHashIgnore())
      .def_ro("depth", &StmtNode::depth, refl::repr(false), Flag::SEqHashIgnore());
  refl::ObjectDef<SeqStmtNode>(refl::init(false)).def_ro("seq", &SeqStmtNode::seq);
  refl::ObjectDef<BindNode>(refl::init(false))
      .def_ro("value", &BindNode::value)
      .def_ro("var", &BindNode::var, Flag::SEqHashDefSimple());
  refl::ObjectDef<AllocBufferNode>(refl::init(false))
      .def_ro("buffer", &AllocBufferNode::buffer, Flag::SEqHashDefPattern());
  refl::ObjectDef<DeclBufferNode>(refl::init(false))
      .def_ro("buffer", &DeclBufferNode::buffer, Flag::SEqHashDefPattern());
  refl::ObjectDef<BufferStoreNode>(refl::init(false))
      .def_ro("buffer", &BufferStoreNode::buffer)
      .def_ro("value", &BufferStoreNode::value)
      .def_ro("indices", &BufferStoreNode::indices);
  refl::ObjectDef<EvaluateNode>(refl::init(false)).def_ro("value", &EvaluateNode::value);
  refl::ObjectDef<ForNode>(refl::init(false))
      .def_ro("min", &ForNode::min)
      .def_ro("extent", &ForNode::extent)
      .def_ro("kind", &ForNode::kind)
      .def_ro("annotations", &ForNode::annotations)
      .def_ro("loop_var", &ForNode::loop_var, Flag::SEqHashDefSimple())
      .def_ro("body", &ForNode::body);
  refl::ObjectDef<WhileNode>(refl::init(false))
      .def_ro("cond", &WhileNode::cond)
      .def_ro("body", &WhileNode::body);
  refl::ObjectDef<BreakNode>(refl::init(false));
  refl::ObjectDef<ContinueNode>(refl::init(false));
  refl::ObjectDef<IfThenElseNode>(refl::init(false))
      .def_ro("cond", &IfThenElseNode::cond)
      .def_ro("then_case", &IfThenElseNode::then_case)
      .def_ro("else_case", &IfThenElseNode::else_case);
  refl::ObjectDef<AssertNode>(refl::init(false))
      .def_ro("cond", &AssertNode::cond)
      .def_ro("message", &AssertNode::message);
  refl::ObjectDef<ScopeIdDefNode>(refl::init(false))
      .def_ro("kind", &ScopeIdDefNode::kind)
      .def_ro("extents", &ScopeIdDefNode::extents)
      .def_ro("attrs", &ScopeIdDefNode::attrs)
      .def_ro("vars", &ScopeIdDefNode::vars, Flag::SEqHashDefPattern());
  refl::ObjectDef<ExecScopeNode>(refl::init(false))
      .def_ro("scope", &ExecScopeNode::scope)
      .def_ro("body", &ExecScopeNode::body);
  refl::ObjectDef<FilterNode>(refl::init(false))
      .def_ro("cond", &FilterNode::cond)
      .def_ro("body", &FilterNode::body);
  refl::ObjectDef<DeviceEntryNode>(refl::init(false));
  refl::ObjectDef<AttrStmtNode>(refl::init(false))
      .def_ro("key", &AttrStmtNode::key)
      .def_ro("value", &AttrStmtNode::value);
  refl::ObjectDef<TilePrimitiveCallNode>(refl::init(false))
      .def_ro("op", &TilePrimitiveCallNode::op)
      .def_ro("args", &TilePrimitiveCallNode::args)
      .def_ro("scope", &TilePrimitiveCallNode::scope)
      .def_ro("dispatch", &TilePrimitiveCallNode::dispatch)
      .def_ro("workspace", &TilePrimitiveCallNode::workspace)
      .def_ro("config", &TilePrimitiveCallNode::config);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PrimFuncNode>(refl::init(false))
      .def_ro("name", &PrimFuncNode::name)
      .def_ro("params", &PrimFuncNode::params, Flag::SEqHashDefPattern())
      .def_ro("param_buffers", &PrimFuncNode::param_buffers, Flag::SEqHashDefPattern())
      .def_ro("body", &PrimFuncNode::body)
      .def_ro("attrs", &PrimFuncNode::attrs)
      .def_ro("span", &PrimFuncNode::span, refl::repr(false), Flag::SEqHashIgnore());
  refl::ObjectDef<IRModuleNode>(refl::init(false))
      .def_ro("functions", &IRModuleNode::functions)
      .def_ro("attrs", &IRModuleNode::attrs);
  refl::ObjectDef<LaunchPlanNode>(refl::init(false))
      .def_ro("grid", &LaunchPlanNode::grid)
      .def_ro("cluster", &LaunchPlanNode::cluster)
      .def_ro("threads", &LaunchPlanNode::threads)
      .def_ro("dyn_shared_bytes", &LaunchPlanNode::dyn_shared_bytes)
      .def_ro("static_shared_bytes", &LaunchPlanNode::static_shared_bytes)
      .def_ro("min_blocks_per_sm", &LaunchPlanNode::min_blocks_per_sm)
      .def_ro("attrs", &LaunchPlanNode::attrs);
  refl::ObjectDef<KernelNode>(refl::init(false))
      .def_ro("host", &KernelNode::host)
      .def_ro("symbols", &KernelNode::symbols, Flag::SEqHashDefPattern())
      .def_ro("device", &KernelNode::device)
      .def_ro("launch", &KernelNode::launch);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<TargetNode>(refl::init(false))
      .def_ro("kind", &TargetNode::kind)
      .def_ro("arch", &TargetNode::arch)
      .def_ro("features", &TargetNode::features)
      .def_ro("limits", &TargetNode::limits);
  refl::ObjectDef<InstrOperandNode>(refl::init(false))
      .def_ro("name", &InstrOperandNode::name)
      .def_ro("dtype", &InstrOperandNode::dtype)
      .def_ro("space", &InstrOperandNode::space)
      .def_ro("access", &InstrOperandNode::access)
      .def_ro("otherwise", &InstrOperandNode::otherwise);
  refl::ObjectDef<InstrNode>(refl::init(false))
      .def_ro("name", &InstrNode::name)
      .def_ro("operands", &InstrNode::operands)
      .def_ro("result", &InstrNode::result)
      .def_ro("result_of", &InstrNode::result_of)
      .def_ro("features", &InstrNode::features)
      .def_ro("form", &InstrNode::form)
      .def_ro("text", &InstrNode::text)
      .def_ro("helper", &InstrNode::helper)
      .def_ro("includes", &InstrNode::includes)
      .def_ro("effects", &InstrNode::effects)
      .def_ro("team", &InstrNode::team)
      .def_ro("sim", &InstrNode::sim)
      .def_ro("sim_attrs", &InstrNode::sim_attrs)
      .def_ro("unsupported", &InstrNode::unsupported);
  using Names = ffi::Array<ffi::String>;
  refl::GlobalDef def;
  def.def("tx.Target", [](ffi::String kind, ffi::String arch, Names features,
                          ffi::Map<ffi::String, int64_t> limits) {
    auto n = ffi::make_object<TargetNode>();
    n->kind = kind;
    n->arch = arch;
    n->features = features;
    n->limits = limits;
    return Target(std::move(n));
  });
  def.def("tx.InstrOperand", [](ffi::String name, DLDataType t, ffi::String space,
                                ffi::String access, ffi::Optional<PrimExpr> otherwise) {
    auto n = ffi::make_object<InstrOperandNode>();
    n->name = name;
    n->dtype = t;
    n->space = space;
    n->access = access;
    n->otherwise = otherwise;
    return InstrOperand(std::move(n));
  });
  def.def("tx.Instr",
          [](ffi::String name, ffi::Array<InstrOperand> operands, DLDataType result, Names features,
             ffi::String form, ffi::String text, ffi::String helper, Names includes, Names effects,
             ffi::String team, ffi::String sim, ffi::Map<ffi::String, ffi::Any> sim_attrs,
             ffi::String unsupported, int result_of) {
            auto n = ffi::make_object<InstrNode>();
            n->name = name;
            n->operands = operands;
            n->result = result;
            n->features = features;
            n->form = form;
            n->text = text;
            n->helper = helper;
            n->includes = includes;
            n->effects = effects;
            n->team = team;
            n->sim = sim;
            n->sim_attrs = sim_attrs;
            n->unsupported = unsupported;
            n->result_of = result_of;
            return Instr(std::move(n));
          });
  def.def("tx.register_instr", &RegisterInstr);
  def.def("tx.find_instr", [](ffi::String name) -> ffi::Optional<Instr> {
    if (const InstrNode* n = FindInstr(name)) return GetRef<Instr>(n);
    return std::nullopt;
  });
  def.def("tx.instr_call",
          [](ffi::String name, ffi::Array<PrimExpr> args, ffi::Map<ffi::String, ffi::Any> attrs,
             Span span) { return MakeInstrCall(name, args, attrs, span); });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  using Attrs = ffi::Map<ffi::String, ffi::Any>;
  refl::GlobalDef def;
  def.def("tx.Buffer", [](ffi::String name, Var data, ffi::Array<PrimExpr> shape, DLDataType dtype,
                          ffi::Optional<Layout> layout, ffi::String scope, PrimExpr elem_offset,
                          int align, ffi::Optional<PrimExpr> addr, Span span) {
    return Buffer(name, data, shape, dtype,
                  layout.value_or(Layout(ffi::ObjectPtr<LayoutNode>(nullptr))), scope, elem_offset,
                  align, addr, span);
  });
  def.def("tx.BufferLoad",
          [](Buffer b, ffi::Array<PrimExpr> i, Span s) { return BufferLoad(b, i, s); });
  def.def("tx.BufferRegion", [](Buffer b, ffi::Array<Range> r, ffi::Array<int64_t> sq, Span s) {
    return BufferRegion(b, r, sq, s);
  });
  def.def("tx.SeqStmt", [](ffi::Array<Stmt> seq, Span s) { return MakeSeq(seq, s); });
  def.def("tx.Bind", [](Var v, PrimExpr e, Span s) { return MakeBind(v, e, s); });
  def.def("tx.AllocBuffer", [](Buffer b, Span s) { return MakeAllocBuffer(b, s); });
  def.def("tx.DeclBuffer", [](Buffer b, Span s) { return MakeDeclBuffer(b, s); });
  def.def("tx.BufferStore", [](Buffer b, PrimExpr v, ffi::Array<PrimExpr> i, Span s) {
    return MakeBufferStore(b, v, i, s);
  });
  def.def("tx.Evaluate", [](PrimExpr e, Span s) { return MakeEvaluate(e, s); });
  def.def("tx.For", [](Var v, PrimExpr lo, PrimExpr n, ffi::String kind, Stmt body, Attrs a,
                       Span s) { return MakeFor(v, lo, n, kind, body, a, s); });
  def.def("tx.While", [](PrimExpr c, Stmt b, Span s) { return MakeWhile(c, b, s); });
  def.def("tx.Break", [](Span s) { return MakeBreak(s); });
  def.def("tx.Continue", [](Span s) { return MakeContinue(s); });
  def.def("tx.IfThenElse",
          [](PrimExpr c, Stmt t, ffi::Optional<Stmt> f, Span s) { return MakeIf(c, t, f, s); });
  def.def("tx.Assert", [](PrimExpr c, ffi::String m, Span s) { return MakeAssert(c, m, s); });
  def.def("tx.ScopeIdDef", [](ffi::Array<Var> v, ffi::String k, ffi::Array<PrimExpr> e, Attrs a,
                              Span s) { return MakeScopeIdDef(v, k, e, a, s); });
  def.def("tx.ExecScope", [](ffi::String k, Stmt b, Span s) { return MakeExecScope(k, b, s); });
  def.def("tx.Filter", [](PrimExpr c, Stmt b, Span s) { return MakeFilter(c, b, s); });
  def.def("tx.DeviceEntry", [](Span s) { return MakeDeviceEntry(s); });
  def.def("tx.AttrStmt", [](ffi::String k, ffi::Any v, Span s) { return MakeAttrStmt(k, v, s); });
  def.def("tx.TilePrimitiveCall",
          [](ffi::String op, ffi::Array<ffi::Any> args, ffi::String scope, ffi::String dispatch,
             ffi::Map<ffi::String, Buffer> ws, Attrs config,
             Span s) { return MakeTilePrimitiveCall(op, args, scope, dispatch, ws, config, s); });
  def.def("tx.PrimFunc", [](ffi::String n, ffi::Array<Var> p, ffi::Array<ffi::Optional<Buffer>> b,
                            Stmt body, Attrs a, Span s) { return PrimFunc(n, p, b, body, a, s); });
  def.def("tx.IRModule", [](ffi::Map<ffi::String, PrimFunc> f, Attrs a) { return IRModule(f, a); });
  def.def("tx.LaunchPlan",
          [](ffi::Array<PrimExpr> grid, ffi::Array<int64_t> cluster, int64_t threads, int64_t dyn,
             int64_t stat, int64_t min_blocks, Attrs attrs) {
            auto n = ffi::make_object<LaunchPlanNode>();
            n->grid = grid;
            n->cluster = cluster;
            n->threads = threads;
            n->dyn_shared_bytes = dyn;
            n->static_shared_bytes = stat;
            n->min_blocks_per_sm = min_blocks;
            n->attrs = attrs;
            return LaunchPlan(std::move(n));
          });
  def.def("tx.Kernel",
          [](PrimFunc host, PrimFunc device, ffi::Array<Var> symbols, LaunchPlan launch) {
            auto n = ffi::make_object<KernelNode>();
            n->host = host;
            n->device = device;
            n->symbols = symbols;
            n->launch = launch;
            return Kernel(std::move(n));
          });
  def.def("tx.substitute", [](ffi::ObjectRef e, ffi::Map<Var, PrimExpr> values) -> ffi::ObjectRef {
    if (auto s = e.as<Stmt>()) return Substitute(*s, values);
    return Substitute(ffi::Any(e).cast<PrimExpr>(), values);
  });
}

}  // namespace tirx
