import Glibc

/// The fuzz targets of scripts/fuzz, and of `CorpusTests`.
///
/// libFuzzer calls `LLVMFuzzerTestOneInput` with bytes that it mutates towards code that no input has
/// reached. `WIDGETD_FUZZ_TARGET` names the target. A target must return, whatever the bytes are; a
/// trap, a broken invariant (`require`), a timeout and an access that AddressSanitizer finds are
/// findings.
enum FuzzTarget: String, CaseIterable {
  case frames, messages, expressions, bundles, json, archives, rows
  #if GRPC
    case http2
  #endif

  var run: (UnsafeRawBufferPointer) -> Void {
    switch self {
    case .frames: fuzzFrames
    case .messages: fuzzMessages
    case .expressions: fuzzExpressions
    case .bundles: fuzzBundles
    case .json: fuzzJSON
    case .archives: fuzzArchives
    case .rows: fuzzRows
    #if GRPC
      case .http2: fuzzHTTP2
    #endif
    }
  }

  nonisolated(unsafe) static let chosen: (UnsafeRawBufferPointer) -> Void = {
    let name = getenv("WIDGETD_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
      let names = allCases.map(\.rawValue).joined(separator: ", ")
      fatalError("WIDGETD_FUZZ_TARGET is \"\(name)\"; set one of \(names), or run scripts/fuzz")
    }
    return target.run
  }()
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  FuzzTarget.chosen(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}

/// Ends the process with a message if an invariant is broken.
func require(_ condition: Bool, _ words: @autoclosure () -> String) {
  if !condition { fatalError(words()) }
}

/// The lengths of the pieces in which a transport could deliver this many bytes. The first byte of
/// an input chooses them.
func pieces(of count: Int, by choice: UInt8) -> [Int] {
  guard choice > 0 else { return [count] }
  var state = UInt32(choice)
  var rest = count
  var lengths: [Int] = []
  while rest > 0 {
    state = state &* 1_664_525 &+ 1_013_904_223
    let length = min(rest, 1 + Int(state >> 24) % Int(choice))
    lengths.append(length)
    rest -= length
  }
  return lengths
}
