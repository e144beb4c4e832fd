#include <tirx/ir/instr.h>
#include <tirx/support/ref.h>
#include <tvm/ffi/function.h>

#include <mutex>
#include <string>
#include <unordered_map>

namespace tirx {
namespace {

struct Table {
  std::mutex lock;
  std::unordered_map<std::string, Instr> entries;
};

Table* Global() {
  static Table* table = new Table();
  return table;
}

const InstrNode* Lookup(const std::string& name) {
  std::lock_guard<std::mutex> guard(Global()->lock);
  auto it = Global()->entries.find(name);
  return it == Global()->entries.end() ? nullptr : it->second.get();
}

}  // namespace

bool InstrNode::IsPure() const {
  for (const ffi::String& e : effects) {
    if (e != "pure") return false;
  }
  for (const InstrOperand& op : operands) {
    if (op->Writes()) return false;
  }
  return true;
}

void RegisterInstr(const Instr& instr) {
  std::lock_guard<std::mutex> guard(Global()->lock);
  Global()->entries.insert_or_assign(std::string(instr->name), instr);
}

const InstrNode* FindInstr(const ffi::String& name) {
  std::string key(name);
  if (const InstrNode* n = Lookup(key)) return n;
  // The hook declares the instruction through tx.register_instr when it knows the name.
  if (auto hook = ffi::Function::GetGlobal("tx.instr_lookup")) {
    (*hook)(name);
    return Lookup(key);
  }
  return nullptr;
}

}  // namespace tirx
