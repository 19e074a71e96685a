import WidgetModel

// The content of a widget whose kind is not registered, written without its nodes. A new reader
// gets one for each such widget.
//
// The nodes are those of `DataTable.nodes`. A test compares the bytes.

extension DataTable {
  /// Puts the nodes in front of the output, the last one first. False as for `DirectMessage`.
  func writeNodes(to output: DirectOutput) -> Bool {
    let (hasRows, hasMore) = (!rows.isEmpty, moreCount > 0)
    return writeKind(to: output)
      && (!hasMore || output.label("more", text: moreText))
      && (!hasRows || writeTable(to: output))
      && output.node("plain", type: .stack) {
        output.child("kind") && (!hasMore || output.child("more"))
          && (!hasRows || output.child("table"))
      }
  }

  private func writeKind(to output: DirectOutput) -> Bool {
    output.node("kind", type: .label) {
      output.property("text") {
        output.message(FieldNumber.Value.stringValue) {
          output.characters("\" is not registered.") && output.characters(kind.rawValue)
            && output.characters("The kind \"")
        }
      } && output.property("font") { output.string("caption") }
    }
  }

  private func writeTable(to output: DirectOutput) -> Bool {
    output.each(rows) { row in
      output.label("value", row.path, text: row.value)
        && output.label("key", row.path, text: row.key)
        && output.node("row", row.path, type: .stack) {
          output.child("value", row.path) && output.child("key", row.path)
            && output.property("axis") { output.string("horizontal") }
        }
    }
      && output.node("table", type: .table) {
        output.each(rows) { output.child("row", $0.path) }
          && output.property("columns") {
            output.message(FieldNumber.Value.listValue) {
              output.element("Value") && output.element("Key")
            }
          }
      }
  }
}

extension DirectOutput {
  /// A node of a content. Its id has two parts. `fields` puts its children, then its properties.
  @inline(__always)
  fileprivate func node(
    _ id: StaticString, _ path: String = "", type: NodeType, _ fields: () -> Bool
  ) -> Bool {
    message(FieldNumber.Content.nodes) {
      fields() && number(FieldNumber.Node.type, UInt64(type.rawValue))
        && text(FieldNumber.Node.id, id, path)
    }
  }

  fileprivate func label(_ id: StaticString, _ path: String = "", text: String) -> Bool {
    node(id, path, type: .label) {
      property("text") { always(FieldNumber.Value.stringValue, text) }
    }
  }

  fileprivate func child(_ id: StaticString, _ path: String = "") -> Bool {
    text(FieldNumber.Node.childIds, id, path)
  }

  /// `value` puts the field of the property's value.
  @inline(__always)
  fileprivate func property(_ key: StaticString, _ value: () -> Bool) -> Bool {
    message(FieldNumber.Node.properties) {
      message(MapEntry.value, value) && text(MapEntry.key, key)
    }
  }

  fileprivate func string(_ text: StaticString) -> Bool {
    self.text(FieldNumber.Value.stringValue, text)
  }

  /// An element of a list.
  fileprivate func element(_ text: StaticString) -> Bool {
    message(FieldNumber.ListValue.values) { string(text) }
  }

  /// A text in two parts.
  @inline(__always)
  private func text(_ field: UInt32, _ first: StaticString, _ rest: String = "") -> Bool {
    message(field) { (rest.isEmpty || characters(rest)) && characters(first) }
  }
}
