/*!
 * The simulator's entry points.
 */
#include <tirx/sim/machine.h>
#include <tirx/sim/numeric.h>
#include <tirx/sim/observe.h>
#include <tirx/sim/ops.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <algorithm>
#include <memory>

namespace tirx {
namespace sim {
namespace {

/*! A compiled program; keeps the IR it came from alive. */
class SimProgramNode : public ffi::Object {
 public:
  Program program;
  explicit SimProgramNode(Program p) : program(std::move(p)) {}
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.SimProgram", SimProgramNode, ffi::Object);
};

Options MakeOptions(const std::string& schedule, int64_t seed,
                    const ffi::Array<ffi::String>& observers, bool mma_f64) {
  Options o;
  o.schedule = schedule == "eager"    ? Schedule::kEager
               : schedule == "random" ? Schedule::kRandom
                                      : Schedule::kLazy;
  o.seed = static_cast<uint64_t>(seed);
  o.mma_f64 = mma_f64;
  auto on = [&](const char* name) {
    return std::find(observers.begin(), observers.end(), name) != observers.end();
  };
  o.bounds = on("bounds");
  o.init = on("init");
  o.sync = on("sync");
  o.race = on("race");
  o.replica = on("replica");
  o.counters = on("counters");
  return o;
}

/*! Sparse device memory that outlives a launch. */
class SimMemoryNode : public ffi::Object {
 public:
  std::shared_ptr<SparseMemory> memory = std::make_shared<SparseMemory>();
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tx.SimMemory", SimMemoryNode, ffi::Object);
};

SparseMemory* MemoryOf(const ffi::ObjectRef& ref) {
  auto* node = ref.as<SimMemoryNode>();
  TVM_FFI_CHECK(node, TypeError) << "expected sparse simulator memory";
  return node->memory.get();
}

/*! Arguments as triples: (0, host address, bytes), (1, bits of a scalar, 0), (2, index in
 * `sparse`, bytes) or (3, address of a read-only array, bytes). */
std::vector<Argument> MakeArguments(const ffi::Array<int64_t>& flat,
                                    const ffi::Array<ffi::ObjectRef>& sparse) {
  std::vector<Argument> args;
  for (size_t i = 0; i + 2 < flat.size(); i += 3) {
    Argument a;
    a.is_buffer = flat[i] != 1;
    a.bytes = flat[i + 2];
    a.read_only = flat[i] == 3;
    if (flat[i] == 0 || flat[i] == 3) a.host = reinterpret_cast<uint8_t*>(flat[i + 1]);
    if (flat[i] == 1) a.scalar = flat[i + 1];
    if (flat[i] == 2) a.sparse = MemoryOf(sparse[flat[i + 1]]);
    args.push_back(a);
  }
  return args;
}

ffi::ObjectRef CompileProgram(Kernel kernel, Target target, ffi::String schedule, int64_t seed,
                              ffi::Array<ffi::String> observers, bool mma_f64) {
  Options o = MakeOptions(std::string(schedule), seed, observers, mma_f64);
  return ffi::ObjectRef(ffi::make_object<SimProgramNode>(Compile(kernel, target, o)));
}

ffi::String RunProgram(ffi::ObjectRef program, ffi::Array<int64_t> args,
                       ffi::Array<ffi::ObjectRef> sparse, int workers, ffi::Array<Var> names,
                       ffi::Array<int64_t> values) {
  auto* node = program.as<SimProgramNode>();
  TVM_FFI_CHECK(node, TypeError) << "sim_run takes a SimProgram";
  Machine m;
  m.workers = workers;
  m.interrupted = [] { return TVMFFIEnvCheckSignals() != 0; };
  HostEnv env;
  for (size_t i = 0; i < names.size(); ++i) env[names[i].get()] = values[i];
  Launch(&m, node->program, MakeArguments(args, sparse), std::move(env));
  if (m.gave_up) throw ffi::EnvErrorAlreadySet();
  return ReportJson(m);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<SimProgramNode>(refl::init(false));
  refl::GlobalDef def;
  def.def("tx.sim_compile", &CompileProgram);
  def.def("tx.sim_run", &RunProgram);
  def.def("tx.sim_meanings", [] {
    ffi::Array<ffi::String> names;
    for (const std::string& name : MeaningNames()) names.push_back(name);
    return names;
  });
  refl::ObjectDef<SimMemoryNode>(refl::init(false));
  def.def("tx.sim_memory", [] { return ffi::ObjectRef(ffi::make_object<SimMemoryNode>()); });
  def.def("tx.sim_memory_write", [](ffi::ObjectRef m, int64_t offset, ffi::Bytes data) {
    MemoryOf(m)->Write(offset, reinterpret_cast<const uint8_t*>(data.data()),
                       static_cast<int64_t>(data.size()));
  });
  def.def("tx.sim_memory_read", [](ffi::ObjectRef m, int64_t offset, int64_t n) {
    std::string out(n, 0);
    MemoryOf(m)->Read(offset, reinterpret_cast<uint8_t*>(out.data()), n);
    return ffi::Bytes(std::move(out));
  });
  def.def("tx.sim_memory_pages",
          [](ffi::ObjectRef m) { return static_cast<int64_t>(MemoryOf(m)->pages()); });
}

}  // namespace sim
}  // namespace tirx
