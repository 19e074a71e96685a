import Testing
import WidgetModel

/// The descriptions of node types fit together.
@Suite struct NodeDescriptionTests {
  @Test(arguments: NodeType.allCases)
  func `the value after the type's name is a property, or children`(type: NodeType) {
    if let main = type.mainProperty {
      #expect(type.properties.contains { $0.name == main })
    } else {
      #expect(type.isContainer)
    }
  }

  @Test(arguments: NodeType.allCases)
  func `a node takes by default only events of its type`(type: NodeType) {
    let names = type.events.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(names.filter(type.defaultEvents.contains) == type.defaultEvents)
    // Bars send these events. A bar's wheel must not change a node whose author did not ask for
    // that.
    #expect(!type.defaultEvents.contains { ["click", "scroll"].contains($0) })
  }

  @Test(arguments: NodeType.allCases)
  func `both ends of a range are numeric properties of the type`(type: NodeType) {
    for name in type.ranges.flatMap({ [$0.least, $0.most] }) {
      switch type.property(name)?.type {
      case .number, .whole, .length: break
      case let other: Issue.record("\(name): \(other.map { "\($0)" } ?? "no property")")
      }
    }
  }

  @Test(arguments: NodeType.allCases)
  func `a type has a sentence and a role`(type: NodeType) {
    #expect(type.summary.hasSuffix("."))
    #expect(type.role != .unknown)
    #expect(NodeType(name: type.name) == type)
  }

  @Test func `nodes of a later type have the role of unknown ones`() {
    #expect(Node(id: "a", type: nil).role == .unknown)
    #expect(Node(id: "a", type: .gauge).role == .gauge)
  }
}
