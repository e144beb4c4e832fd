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

namespace {

/*! Position of the parenthesis that the last `)` of a statement closes, or npos. */
size_t OpeningOf(const std::string& s, size_t close) {
  int depth = 0;
  for (size_t i = close + 1; i-- > 0;) {
    if (s[i] == ')') ++depth;
    if (s[i] == '(' && --depth == 0) return i;
  }
  return std::string::npos;
}

/*! Ends of the parts of s[begin, end) between commas outside brackets. */
std::vector<size_t> Commas(const std::string& s, size_t begin, size_t end) {
  std::vector<size_t> out;
  int depth = 0;
  for (size_t i = begin; i < end; ++i) {
    if (s[i] == '(' || s[i] == '[' || s[i] == '{') ++depth;
    if (s[i] == ')' || s[i] == ']' || s[i] == '}') --depth;
    if (s[i] == ',' && depth == 0) out.push_back(i + 1);
  }
  out.push_back(end);
  return out;
}

}  // namespace

std::string WrapStatement(const std::string& line, size_t columns) {
  std::string indent(line.find_first_not_of(' ') + 4, ' ');
  if (line.find('"') != std::string::npos || line.find("//") != std::string::npos) return line;
  if (line.size() < 2 || line.back() != ';') return line;
  size_t assign = line.find(" = ");
  size_t open = line[line.size() - 2] == ')' ? OpeningOf(line, line.size() - 2) : std::string::npos;
  bool name_before =
      open != std::string::npos && open > 0 && line[open - 1] != ' ' && line[open - 1] != '(';
  if (!name_before) {
    if (assign == std::string::npos) return line;
    return line.substr(0, assign + 2) + "\n" + indent + line.substr(assign + 3);
  }
  std::string out = line.substr(0, open + 1) + "\n" + indent;
  size_t begin = open + 1, used = indent.size();
  for (size_t end : Commas(line, begin, line.size() - 2)) {
    std::string part = line.substr(begin, end - begin);
    bool first = used == indent.size();
    if (part[0] == ' ') part.erase(0, 1);
    if (!first && used + part.size() + 1 > columns) {
      out += "\n" + indent;
      used = indent.size();
      first = true;
    }
    out += (first ? "" : " ") + part;
    used += part.size() + !first;
    begin = end;
  }
  return out + ");";
}

}  // namespace codegen
}  // namespace tirx
