import Foundation
import SeededRandom
import Testing
import WidgetCore
import WidgetModel

/// Each target gets its inputs of `Corpus`, and the first changes that libFuzzer would try, without
/// libFuzzer.
///
/// A finding of scripts/fuzz ends the test run, as it ends the fuzzer. To see which input it is:
/// `scripts/fuzz TARGET 0 Tests/Fuzz/Corpus/TARGET/*`. Random changes differ from run to run. Their
/// seed is printed before they begin, and `WIDGETD_FUZZ_SEED=<seed>` makes the same changes again.
///
/// The targets keep memory from input to input, so only one thread at a time calls them.
@Suite("Corpora of the fuzz targets", .serialized)
struct CorpusTests {
  private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Corpus")
  private static let bundles = corpus.deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Clients/bundles")
  private static let mutants = 400

  @Test(arguments: FuzzTarget.allCases)
  func `a target returns for each input of its corpus, for its halves and for changed bytes`(
    target: FuzzTarget
  ) throws {
    for input in try Self.inputs(of: target) {
      input.withUnsafeBytes(target.run)
      input.prefix(input.count / 2).withUnsafeBytes(target.run)
      for index in stride(from: 0, to: input.count, by: max(1, input.count / 10)) {
        var changed = input
        changed[index] ^= 0xff
        changed.withUnsafeBytes(target.run)
      }
    }
    [UInt8]().withUnsafeBytes(target.run)
  }

  @Test(arguments: FuzzTarget.allCases)
  func `a target returns for inputs with random changes`(target: FuzzTarget) throws {
    let given = ProcessInfo.processInfo.environment["WIDGETD_FUZZ_SEED"].flatMap(UInt64.init)
    let seed = given ?? UInt64.random(in: 1...UInt64(UInt32.max))
    print("\(target): WIDGETD_FUZZ_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    var pool = try Self.inputs(of: target)
    if target == .bundles { pool += try Self.realBundles() }
    for _ in 0..<Self.mutants {
      let mutant = mutated(random.pick(pool), with: pool, by: &random)
      mutant.withUnsafeBytes(target.run)
      // Changes accumulate: a mutant replaces an input, so later ones differ more.
      if random.chance(25) { pool[random.below(pool.count)] = mutant }
    }
  }

  /// The tables, and the number of their rows in an image.
  static let tables: [String: @Sendable (StoreImage) -> Int] = [
    "widgets": { $0.records.count }, "tombstones": { $0.tombstones.count },
    "kinds": { $0.kinds.count }, "events": { $0.events.count },
    "theme": { $0.theme.overrides.count }, "requests": { $0.requests.count },
    "lost_events": { $0.lostEvents.count }, "refresh_budgets": { $0.refreshBudgets.count },
  ]

  /// A malformed row is refused before most of the code that the target is for.
  @Test(arguments: CorpusTests.tables.keys.sorted())
  func `the input that is named after a table is a row of the table`(table: String) throws {
    let input = try Self.input("rows/" + table)
    let image = try #require(input.withUnsafeBytes(loadRow), "the row is refused")
    for (name, count) in Self.tables {
      #expect(count(image) == (name == table ? 1 : 0), "\(name)")
    }
  }

  @Test func `the input that is named after the state has all numbers of the state`() throws {
    let input = try Self.input("rows/state")
    let image = try #require(input.withUnsafeBytes(loadRow), "the row is refused")
    #expect(image.epoch == 9 && image.revision == 2_000 && image.compactRevision == 1_500)
    #expect(image.eventSequenceCeiling == 8_192)
    #expect(image.runningTime == RunningTime(elapsed: .seconds(60)))
  }

  @Test(arguments: ["call", "continuation"])
  func `the inputs for HTTP/2 have a block of headers and a message, in complete frames`(
    name: String
  ) throws {
    // The choice of the pieces, and the opening.
    var rest = try Self.input("http2/" + name).dropFirst(2)
    var (types, message): ([UInt8], [UInt8]) = ([], [])
    while !rest.isEmpty {
      let header = Array(rest.prefix(9))
      try #require(header.count == 9)
      let count = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
      let payload = Array(rest.dropFirst(9).prefix(count))
      #expect(payload.count == count)
      types.append(header[3])
      if header[3] == 0 {
        let isPadded = header[4] & 8 != 0
        message += isPadded ? payload.dropFirst().dropLast(Int(payload[0])) : payload[...]
      }
      rest = rest.dropFirst(9 + count)
    }
    #expect(types.contains(1) && types.contains(9) == (name == "continuation"))
    #expect(message.starts(with: [0, 0, 0, 0, 3, 0x0a, 1, UInt8(ascii: "a")]), "\(message)")
  }

  @Test func `each corpus is that of a target`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
    var known = Set(FuzzTarget.allCases.map(\.rawValue))
    known.insert("http2")  // No target without gRPC.
    #expect(known == Set(names))
  }

  private static func input(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: corpus.appendingPathComponent(name)))
  }

  private static func inputs(of target: FuzzTarget) throws -> [[UInt8]] {
    let folder = corpus.appendingPathComponent(target.rawValue)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.isEmpty)
    return try names.sorted().map {
      [UInt8](try Data(contentsOf: folder.appendingPathComponent($0)))
    }
  }

  private static func realBundles() throws -> [[UInt8]] {
    let names = try FileManager.default.contentsOfDirectory(atPath: bundles.path).sorted()
    let files = names.map {
      bundles.appendingPathComponent($0).appendingPathComponent("bundle.yaml")
    }
    let texts = files.compactMap { try? Data(contentsOf: $0) }.map { [UInt8]($0) }
    #expect(!texts.isEmpty)
    return texts
  }
}
