/// An entry of `permissions.environment`: the name of a variable, or a prefix followed by `*`.
struct EnvironmentPermission: Hashable {
  let name: String
  /// Whether `name` is a prefix.
  let isPattern: Bool

  init?(_ text: String) {
    isPattern = text.hasSuffix("*")
    name = isPattern ? String(text.dropLast()) : text
    guard !(name.isEmpty && !isPattern), name.utf8.count <= 128,
      name.utf8.first.map({ !(0x30...0x39).contains($0) }) ?? true,
      name.utf8.allSatisfy({ byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
          || byte == UInt8(ascii: "_")
      })
    else { return nil }
  }

  func allows(_ other: String) -> Bool { isPattern ? other.hasPrefix(name) : other == name }

  /// The dangerous variable or prefix that it permits: one that can change which code a program
  /// runs. Nil if there is none.
  var danger: String? {
    if let exact = EnvironmentPermission.dangerous.first(where: { allows($0) }) { return exact }
    return EnvironmentPermission.dangerousBeginnings.first {
      name.hasPrefix($0) || (isPattern && $0.hasPrefix(name))
    }.map { $0 + "*" }
  }

  /// Variables from which loaders, shells and interpreters take code, or paths to code.
  private static let dangerous = [
    "PATH", "IFS", "ENV", "CDPATH", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND",
    "GCONV_PATH", "LOCPATH", "NLSPATH", "GLIBC_TUNABLES", "NODE_OPTIONS", "NODE_PATH", "CLASSPATH",
    "JAVA_TOOL_OPTIONS", "EDITOR", "VISUAL", "PAGER", "LESSOPEN", "LESSCLOSE",
  ]
  private static let dangerousBeginnings = [
    "LD_", "BASH_", "PYTHON", "PERL", "RUBY", "LUA_", "GIT_", "MALLOC_",
  ]
}

extension Permissions {
  /// Whether a variable of the host's environment may be read and passed to programs.
  public func allowsVariable(_ name: String) -> Bool {
    environment.contains { EnvironmentPermission($0)?.allows(name) ?? false }
  }
}
