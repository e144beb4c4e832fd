#include <tirx/codegen/printer.h>

#include <cctype>

namespace tirx {
namespace codegen {

std::string Identifier(const std::string& hint) {
  std::string out;
  for (char c : hint) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "v" + out;
  return out;
}

bool NameTable::Taken(const std::string& name) const {
  return visible_.count(name) || reserved_->count(name);
}

std::string NameTable::Define(const std::string& hint) {
  std::string base = Identifier(hint), name = base;
  if (Taken(name)) {
    int& number = next_[base];
    do {
      name = base + "_" + std::to_string(++number);
    } while (Taken(name));
  }
  visible_.insert(name);
  blocks_.back().push_back(name);
  return name;
}

void NameTable::Close() {
  for (const std::string& name : blocks_.back()) {
    visible_.erase(name);
    // The number may be used again by the next block with such a name.
    size_t cut = name.rfind('_');
    if (cut != std::string::npos) next_.erase(name.substr(0, cut));
  }
  blocks_.pop_back();
}

}  // namespace codegen
}  // namespace tirx
