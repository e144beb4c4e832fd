#include <tirx/expr/ops.h>
#include <tirx/ir/instr.h>
#include <tirx/passes/check_teams.h>
#include <tirx/scope/walker.h>
#include <tirx/support/diag.h>

#include <cstdio>
#include <map>
#include <string>

namespace tirx {
namespace passes {
namespace {

bool Contains(const ffi::Array<ffi::String>& list, const char* name) {
  for (const ffi::String& s : list) {
    if (s == name) return true;
  }
  return false;
}

/*! The operand of that name. */
std::optional<PrimExpr> Operand(const InstrNode* instr, const CallNode* call, const char* name) {
  for (size_t i = 0; i < instr->operands.size() && i < call->args.size(); ++i) {
    if (instr->operands[i]->name == name) return call->args[i];
  }
  return std::nullopt;
}
std::optional<int64_t> ConstOperand(const InstrNode* instr, const CallNode* call,
                                    const char* name) {
  std::optional<PrimExpr> e = Operand(instr, call, name);
  return e ? AsInt(*e) : std::nullopt;
}

/*! All that is known about the uses of one named barrier. */
struct BarrierUse {
  int64_t count{0};
  scope::ThreadSet threads;
  bool exact{true};  //!< every use is reached by exactly `threads`
  Span where;
};

class TeamChecker : public scope::ScopedMutator {
 public:
  explicit TeamChecker(const PrimFunc& func) : ScopedMutator(func, std::nullopt) {}

  void CheckBarriers() const {
    for (const auto& [id, use] : barriers_) {
      int64_t users = static_cast<int64_t>(use.threads.count());
      if (use.exact && users != use.count) ThrowCount(id, use, users);
    }
  }

 protected:
  Stmt VisitStmt(const Stmt& s) override {
    Span outer = span_;
    if (s->span.defined()) span_ = s->span;
    Stmt out = ScopedMutator::VisitStmt(s);
    span_ = outer;
    return out;
  }

  PrimExpr VisitCall(const Call& e) override {
    if (std::string(e->op).compare(0, 3, "tx.") != 0) Check(e.get());
    return ScopedMutator::VisitCall(e);
  }

 private:
  void Check(const CallNode* n) {
    const InstrNode* instr = FindInstr(n->op);
    if (instr == nullptr || instr->team.empty() || instr->team == "thread") return;
    const Span& where = n->span.defined() ? n->span : span_;
    CheckTeam(instr, n, where);
    if (instr->sim == "barrier.named") NoteBarrier(instr, n, where);
  }

  void CheckTeam(const InstrNode* instr, const CallNode* n, const Span& where) {
    auto kind = scope::ParseKind(instr->team);
    if (!kind) return;
    scope::ActiveSet needed = active();
    if (*kind == scope::Kind::kWarp) {
      std::optional<PrimExpr> mask = Operand(instr, n, "mask");
      if (!mask) mask = Operand(instr, n, "membermask");
      if (mask && !AsInt(*mask)) return;  // lanes known at run time only
      int64_t lanes = mask ? *AsInt(*mask) & 0xffffffff : 0xffffffff;
      AddAbsentLanes(instr, lanes, where, &needed);
    }
    scope::RequireFullTeams(needed, *kind, "`" + std::string(instr->name) + "`", where);
  }

  /*! Lanes that need not come count as present: those outside the mask, and for barriers those
   *  that the last warp of the CTA does not have. */
  static void AddAbsentLanes(const InstrNode* instr, int64_t mask, const Span& where,
                             scope::ActiveSet* a) {
    bool barrier = Contains(instr->effects, "barrier");
    int size = barrier ? RoundUp(a->num_threads) : a->num_threads;
    for (int t = 0; t < size; t += scope::kWarpSize) {
      scope::ThreadSet warp = a->threads >> t & scope::ThreadSet(0xffffffff);
      if (warp.none()) continue;
      if ((warp & scope::ThreadSet(~mask & 0xffffffff)).any()) ThrowMask(instr, mask, warp, where);
      for (int l = 0; l < scope::kWarpSize; ++l) {
        bool absent = barrier && t + l >= a->num_threads;
        if (!(mask >> l & 1) || absent) a->threads.set(t + l);
      }
    }
    a->num_threads = size;
  }

  static int RoundUp(int64_t threads) {
    return static_cast<int>((threads + scope::kWarpSize - 1) / scope::kWarpSize * scope::kWarpSize);
  }

  [[noreturn]] static void ThrowMask(const InstrNode* instr, int64_t mask,
                                     const scope::ThreadSet& warp, const Span& where) {
    auto hex = [](int64_t v) {
      char text[16];
      std::snprintf(text, sizeof(text), "0x%08llx", static_cast<unsigned long long>(v));
      return std::string(text);
    };
    Diag("scope", "partial-team", where)
        .Message("lanes outside the mask of `" + std::string(instr->name) + "` execute it")
        .Found("active lanes " + hex(static_cast<int64_t>(warp.to_ullong())) + ", mask " +
               hex(mask))
        .Required("a mask of exactly the lanes that get here")
        .Throw();
  }

  void NoteBarrier(const InstrNode* instr, const CallNode* n, const Span& where) {
    auto id = ConstOperand(instr, n, "id"), count = ConstOperand(instr, n, "count");
    auto fixed = instr->sim_attrs.find("count");
    if (fixed != instr->sim_attrs.end()) count = (*fixed).second.cast<int64_t>();
    if (!count) return;
    CheckCount(*count, where);
    if (!id) return;
    auto [it, fresh] = barriers_.emplace(*id, BarrierUse{*count, {}, true, where});
    BarrierUse& use = it->second;
    if (use.count != *count) ThrowReused(*id, use, *count, where);
    use.threads |= active().threads;
    use.exact = use.exact && active().agreed >= scope::Kind::kCta;
  }

  void CheckCount(int64_t count, const Span& where) const {
    bool whole = count > 0 && count % scope::kWarpSize == 0;
    if (whole && count <= RoundUp(ids().launch().threads)) return;
    Diag("scope", "barrier-count", where)
        .Message("a named barrier cannot wait for " + std::to_string(count) + " threads")
        .Found("count " + std::to_string(count) + " in a CTA of " +
               std::to_string(ids().launch().threads) + " threads")
        .Required("a multiple of 32, at most the threads of the CTA (barriers count whole warps)")
        .Throw();
  }

  [[noreturn]] void ThrowCount(int64_t id, const BarrierUse& use, int64_t users) const {
    Diag("scope", "barrier-count", use.where)
        .Message("named barrier " + std::to_string(id) + " never has the threads that it waits for")
        .Found(std::to_string(users) + " threads reach it")
        .Required("the count that it is given, " + std::to_string(use.count))
        .Hint("change the count or the conditions around the barrier; give each group its own id")
        .Throw();
  }

  [[noreturn]] void ThrowReused(int64_t id, const BarrierUse& use, int64_t count,
                                const Span& where) const {
    Diag("scope", "barrier-reused", where)
        .Message("named barrier " + std::to_string(id) + " is used with two counts")
        .Found("count " + std::to_string(count))
        .Required("count " + std::to_string(use.count) + " as at its first use, or another id")
        .Note(use.where, "the first use is here")
        .Throw();
  }

  Span span_;
  std::map<int64_t, BarrierUse> barriers_;
};

}  // namespace

void CheckTeams(const PrimFunc& func) {
  TeamChecker checker(func);
  checker.Run();
  checker.CheckBarriers();
}

}  // namespace passes
}  // namespace tirx
