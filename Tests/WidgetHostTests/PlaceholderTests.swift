import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The places of a bundle's folder and of the home, in the arguments of programs.
struct PlaceholderTests {
  @Test(arguments: [
    ("--x=${bundle}/a", "--x=/bundles/b/a"),
    ("cat ${bundle}/a ${home}/b", "cat /bundles/b/a /home/me/b"),
    ("${bundle}${bundle}", "/bundles/b/bundles/b"),
    ("$bundle ${bundles} ${bundle", "$bundle ${bundles} ${bundle"),
    ("$${bundle}$", "$/bundles/b$"),
  ])
  func `a placeholder is replaced anywhere in a constant argument`(
    argument: String, filled: String
  ) throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions: {go: {do: [{command: [echo, '\(argument)']}]}}
      on: {click: go}
      """, permissions: "{commands: [echo]}")
    try scene.event("click")
    #expect(try need(scene.program()).request.arguments == [filled])
  }

  @Test func `a path in the place of a placeholder is not searched for placeholders`() {
    let permissions = BundlePermissions(
      Bundle(id: "b", version: "1.0.0"), folder: "/x/${home}", home: "/h")
    #expect(permissions.filled("-f ${bundle}:${home}") == "-f /x/${home}:/h")
  }
}
