import Dispatch
import Glibc

/// Turns signals into an async sequence of their numbers.
///
/// The signals are blocked from their default action first, so none is lost between start and the
/// first iteration.
struct Signals {
  let stream: AsyncStream<CInt>
  private let sources: [any DispatchSourceSignal]

  init(_ numbers: [CInt]) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CInt.self, bufferingPolicy: .bufferingNewest(16))
    self.stream = stream
    let queue = DispatchQueue(label: "widgetd.signals")
    sources = numbers.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { continuation.yield(number) }
      source.activate()
      return source
    }
  }
}
