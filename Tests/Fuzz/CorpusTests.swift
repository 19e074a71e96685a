import Foundation
import Testing

/// Each target gets its inputs of `Corpus`, and what libFuzzer would try first, without libFuzzer.
///
/// A finding of scripts/fuzz ends the test run, as it ends the fuzzer. To see which input it is:
/// `scripts/fuzz TARGET 0 Tests/Fuzz/Corpus/TARGET/*`.
@Suite("Corpora of the fuzz targets")
struct CorpusTests {
  private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Corpus")

  @Test(arguments: FuzzTarget.allCases)
  func `a target returns for each input of its corpus, for its halves and for changed bytes`(
    target: FuzzTarget
  ) throws {
    let folder = Self.corpus.appendingPathComponent(target.rawValue)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.isEmpty)
    for name in names.sorted() {
      let input = [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
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

  @Test func `each corpus is that of a target`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
    var known = Set(FuzzTarget.allCases.map(\.rawValue))
    known.insert("http2")  // No target without gRPC.
    #expect(known == Set(names))
  }
}
