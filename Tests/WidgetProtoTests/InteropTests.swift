import Foundation
import MessageTypes
import Testing
import WidgetModel
import WidgetProto

/// The same messages through Google's own implementation, in both directions. Needs python3 with
/// `protobuf`, and protoc.
struct InteropTests {
  let codec = WireCodec()

  @Test func `every message of the schema has a Swift type`() throws {
    try withFolder { folder in
      let file = folder + "/names"
      try run("names", file)
      let names = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
      let known = Set(MessageType.byName.keys).union(MessageType.onlyInside)
      #expect(Set(names.map(String.init)) == known)
    }
  }

  @Test(arguments: [1, 2, 3])
  func `messages from Python keep their meaning after Swift`(seed: Int) throws {
    try withFolder { folder in
      try run("generate", folder + "/python", "\(seed)", "15")
      let records = try readRecords(folder + "/python")
      #expect(records.count > MessageType.all.count * 15)
      var recoded: [Record] = []
      for (index, record) in records.enumerated() {
        // The cases of WidgetChange are tested inside a WidgetChange, which is tested inside a
        // ChangeSet.
        if MessageType.onlyInside.contains(record.name) {
          recoded.append(record)
          continue
        }
        let type = try #require(MessageType.byName[record.name])
        do throws(WireError) {
          recoded.append(Record(name: record.name, bytes: try type.recode(codec, record.bytes)))
        } catch {
          Issue.record("record \(index), \(record.name): \(error), bytes \(record.bytes)")
          recoded.append(record)
        }
      }
      try writeRecords(recoded, folder + "/swift")
      try run("compare", folder + "/python", folder + "/swift")
    }
  }

  @Test(arguments: [UInt64](101...105))
  func `messages from Swift keep their meaning after Python`(seed: UInt64) throws {
    try withFolder { folder in
      let samples = RandomMessages.everyType(seed: seed)
      let records = try samples.map { Record(name: $0.name, bytes: try $0.encode(codec)) }
      try writeRecords(records, folder + "/swift")
      try run("echo", folder + "/swift", folder + "/python")
      let echoed = try readRecords(folder + "/python")
      try #require(echoed.count == samples.count)
      for (sample, record) in zip(samples, echoed) {
        #expect(try sample.matches(codec, record.bytes), "\(sample.name)")
      }
    }
  }

  @Test func `the committed code is what scripts/generate writes`() throws {
    let root = InteropTests.root
    try launch([root + "/scripts/generate", "--check"])
  }

  // MARK: Python

  private static let root: String = {
    var url = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { url.deleteLastPathComponent() }
    return url.path
  }()

  private func run(_ command: String, _ arguments: String...) throws {
    let script = InteropTests.root + "/Tests/WidgetProtoTests/Python/interop.py"
    try launch([script, command, InteropTests.root + "/Protos"] + arguments)
  }

  private struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  private func launch(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3"] + arguments
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failed(description: "\(arguments.joined(separator: " ")): \(text)")
    }
  }

  // MARK: Files

  private struct Record {
    var name: String
    var bytes: [UInt8]
  }

  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "widgetproto-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }

  private func writeRecords(_ records: [Record], _ path: String) throws {
    var data = Data()
    for record in records {
      for part in [Array(record.name.utf8), record.bytes] {
        withUnsafeBytes(of: UInt32(part.count).littleEndian) { data.append(contentsOf: $0) }
        data.append(contentsOf: part)
      }
    }
    try data.write(to: URL(fileURLWithPath: path))
  }

  private func readRecords(_ path: String) throws -> [Record] {
    let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    var parts: [[UInt8]] = []
    var at = 0
    while at < data.count {
      try #require(at + 4 <= data.count)
      let count = (0..<4).reduce(0) { $0 | Int(data[at + $1]) << (8 * $1) }
      try #require(at + 4 + count <= data.count)
      parts.append(Array(data[(at + 4)..<(at + 4 + count)]))
      at += 4 + count
    }
    return stride(from: 0, to: parts.count - 1, by: 2).map {
      Record(name: String(decoding: parts[$0], as: UTF8.self), bytes: parts[$0 + 1])
    }
  }
}
