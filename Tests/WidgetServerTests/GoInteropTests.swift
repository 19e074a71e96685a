import Foundation
import Testing
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// containerd's own Go client against this server: Go/main.go, built with the messages that protoc
/// makes of the same schema.
///
/// It needs, of Debian: golang-go, golang-github-containerd-ttrpc-dev (ttrpc 1.1.1, which has unary
/// calls only; streams came with 1.2), gogoprotobuf, protobuf-compiler, libprotobuf-dev. Where one of
/// them is missing the test fails and says so.
@Suite struct `The Go client` {
  static let missing =
    "Install golang-go, golang-github-containerd-ttrpc-dev, gogoprotobuf, protobuf-compiler and "
    + "libprotobuf-dev."

  @Test func `containerd's Go client makes calls and understands answers and errors`() async throws
  {
    let folder = try TestFolder()
    let program = try await onThread { try Self.build(in: folder.path) }
    try await withServer { server in
      let output = try Self.run([program, server.path])
      // The lines of the program's output. A program that checks nothing has none.
      let checks = output.split(separator: "\n").filter { $0.hasPrefix("ok ") }
      #expect(checks.count == 18, "\(output)")
      let client = try server.connect()
      #expect(try client.get("go/clock").data == ["n": .int(2)])
      #expect(try client.stats().lastSequence == 1)
    }
  }

  /// Generates the messages' Go code, and builds the program with it. Returns the program's path.
  private static func build(in folder: String) throws -> String {
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let root = tests.deletingLastPathComponent().deletingLastPathComponent().path
    let files = FileManager.default
    let sources = folder + "/src/widgetd.test"
    try files.createDirectory(
      atPath: sources + "/interop", withIntermediateDirectories: true)
    try files.copyItem(
      atPath: tests.path + "/Go/main.go", toPath: sources + "/interop/main.go")
    let names = [
      "value", "node", "theme", "activity", "timeline", "widget", "kind", "event", "widget_service",
    ]
    let messages = names.map { "widgetd/v1/\($0).proto" }
    try files.createDirectory(
      atPath: folder + "/Protos/widgetd/v1", withIntermediateDirectories: true)
    for path in messages {
      // This generator is older than `optional`, which changes nothing on the wire.
      let text = try String(contentsOfFile: "\(root)/Protos/\(path)", encoding: .utf8)
        .replacingOccurrences(of: "  optional ", with: "  ")
      try text.write(toFile: "\(folder)/Protos/\(path)", atomically: true, encoding: .utf8)
    }
    let types = ["timestamp", "duration", "field_mask"].map {
      "Mgoogle/protobuf/\($0).proto=github.com/gogo/protobuf/types"
    }.joined(separator: ",")
    try run(
      ["protoc", "-I\(folder)/Protos", "-I/usr/include", "--gogo_out=\(types):\(folder)/src"]
        + messages)
    let program = folder + "/interop"
    try run(
      ["go", "build", "-o", program, "widgetd.test/interop"],
      environment: ["GO111MODULE": "off", "GOFLAGS": "", "GOPATH": "\(folder):/usr/share/gocode"])
    return program
  }

  /// Runs a program to its end and returns what it wrote. Throws if it does not end well.
  @discardableResult
  private static func run(
    _ command: [String], environment: [String: String] = [:]
  ) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw TestFault(
        "\(command[0]) ended with \(process.terminationStatus): \(output)\n\(missing)")
    }
    return output
  }
}
