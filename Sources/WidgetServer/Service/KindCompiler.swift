import NIOCore
import NIOPosix
import WidgetCore
import WidgetModel

/// Has the kinds of large messages compiled on another thread, before their commands are carried
/// out. Thousands of expressions take longer than a turn, and nobody else may wait for them.
///
/// One message is compiled at a time, and users take turns. A connection with such a message reads
/// no further messages until then, so messages keep their order.
///
/// Confined to the event loop.
final class KindCompiler {
  private let context: ServiceContext
  private let gate: LoopGate
  private var jobs: [UInt32: CircularBuffer<Job>] = [:]
  /// The users with waiting messages; the next one is first.
  private var users = CircularBuffer<UInt32>()
  private var running: Running?
  private var isEnding = false
  /// Runs on another thread. Tests replace it.
  var compile: @Sendable (KindCompilation) -> CompiledKinds = { $0.run() }

  /// A message that waits to be carried out.
  private struct Job {
    /// Reads the kinds from the message. They take more memory than the message.
    let kinds: () -> [Kind]
    let carryOut: () -> Void
  }

  private final class Running {
    let job: Job
    init(_ job: Job) { self.job = job }
  }

  /// Kinds in smaller messages are compiled with their command. They have a few hundred short
  /// expressions at most.
  static let messageBytesMin = 8 << 10

  init(_ context: ServiceContext, _ gate: LoopGate) {
    (self.context, self.gate) = (context, gate)
  }

  /// Whether a message may have so many expressions that it waits.
  func isLarge(_ byteCount: Int) -> Bool { byteCount >= KindCompiler.messageBytesMin && !isEnding }

  /// Whether a frame of a provider may have so many expressions that it waits. Large changes of
  /// widgets do not wait.
  func isLarge(frame: ByteBuffer) -> Bool {
    isLarge(frame.readableBytes) && KindCompiler.mayDeclareKinds(frame)
  }

  /// False if the only field of a frame is another one than its kinds.
  private static func mayDeclareKinds(_ frame: ByteBuffer) -> Bool {
    var rest = frame
    guard let tag = rest.readInteger(as: UInt8.self), tag & 7 == 2, tag >> 3 != kindsField
    else { return true }
    var (length, shift) = (0, 0)
    while shift < 35, let byte = rest.readInteger(as: UInt8.self) {
      length |= Int(byte & 127) << shift
      shift += 7
      if byte < 128 { break }
    }
    return length != rest.readableBytes
  }

  /// The number of `kinds` in `ProvideRequest`.
  private static let kindsField: UInt8 = 2

  /// Carries a message out after its kinds are compiled, in a later turn.
  ///
  /// - Parameter kinds: Reads the kinds from the message. Is called at most once.
  /// - Parameter carryOut: Is called exactly once, also if the service ends.
  func add(
    of uid: UInt32, kinds: @escaping () -> [Kind], thenCarryOut carryOut: @escaping () -> Void
  ) {
    if jobs[uid] == nil { users.append(uid) }
    jobs[uid, default: CircularBuffer()].append(Job(kinds: kinds, carryOut: carryOut))
    context.eventLoop.assumeIsolated().execute { self.startNext() }
  }

  private func next() -> Job? {
    guard let uid = users.popFirst(), let job = jobs[uid]?.popFirst() else { return nil }
    if jobs[uid]?.isEmpty == true { jobs[uid] = nil } else { users.append(uid) }
    return job
  }

  private func startNext() {
    guard running == nil, let job = next() else { return }
    let compilation = context.store.compilation(of: job.kinds())
    guard !compilation.isEmpty else {
      job.carryOut()
      return context.eventLoop.assumeIsolated().execute { self.startNext() }
    }
    let mine = Running(job)
    running = mine
    let bound = NIOLoopBound((self, mine), eventLoop: context.eventLoop)
    NIOThreadPool.singleton.submit { [compile, gate] _ in
      let compiled = compile(compilation)
      // If the server has stopped, the message was carried out.
      _ = gate.run {
        let (compiler, job) = bound.value
        compiler.ended(job, compiled)
      }
    }
  }

  private func ended(_ running: Running, _ compiled: CompiledKinds) {
    guard self.running === running else { return }
    self.running = nil
    context.use(compiled)
    running.job.carryOut()
    context.use(nil)
    startNext()
  }

  /// Carries out all waiting messages now, because the process ends or hands its connections over.
  /// Later messages do not wait.
  func endAll() {
    isEnding = true
    if let running {
      self.running = nil
      running.job.carryOut()
    }
    while let job = next() { job.carryOut() }
  }
}
