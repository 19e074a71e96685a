extension Reading {
  /// Warns of a `*` in a path or a program of the permissions, where it is part of a name.
  ///
  /// - Parameter hint: the way to permit several files.
  func remarkPattern(_ item: Item, _ text: String, hint: String) {
    guard text.utf8.contains(UInt8(ascii: "*")) else { return }
    remark(
      item, "paths have no patterns, so the * in \"\(text.prefix(80))\" is part of a name",
      hint: hint)
  }
}
