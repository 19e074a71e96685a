import Synchronization

/// The traffic of an interface per second between two samples.
struct NetworkRate: Hashable {
  var receivedPerSecond: Double
  var sentPerSecond: Double
}

/// The traffic of all interfaces up to one moment.
struct NetworkSample: Hashable {
  /// The uptime of the machine.
  var time: Duration
  var counters: [String: NetworkCounters]

  /// The rates of all interfaces that are in both samples. Empty without an earlier sample or if no time
  /// has passed. An interface that was reset in between counts from 0.
  func rates(since earlier: NetworkSample?) -> [String: NetworkRate] {
    guard let earlier else { return [:] }
    let seconds = (time - earlier.time) / .seconds(1)
    guard seconds > 0 else { return [:] }
    var result: [String: NetworkRate] = [:]
    for (name, now) in counters {
      guard let before = earlier.counters[name] else { continue }
      func rate(_ path: KeyPath<NetworkCounters, UInt64>) -> Double {
        let (new, old) = (now[keyPath: path], before[keyPath: path])
        return Double(new >= old ? new - old : new) / seconds
      }
      result[name] = NetworkRate(
        receivedPerSecond: rate(\.receivedBytes), sentPerSecond: rate(\.sentBytes))
    }
    return result
  }
}

/// The last two samples, because rates are differences. Several requests within an interval get the
/// same sample, because the traffic of a very short time says nothing about the rate.
final class NetworkSamples: Sendable {
  private let lastTwo = Mutex<(earlier: NetworkSample?, latest: NetworkSample?)>((nil, nil))

  func take(
    at now: Duration, every interval: Duration, _ read: () throws -> [String: NetworkCounters]
  ) throws -> (counters: [String: NetworkCounters], rates: [String: NetworkRate]) {
    try lastTwo.withLock { lastTwo in
      let age = lastTwo.latest.map { now - $0.time }
      guard let age, let latest = lastTwo.latest, age < interval / 2 else {
        let sample = NetworkSample(time: now, counters: try read())
        lastTwo = (lastTwo.latest, sample)
        return (sample.counters, sample.rates(since: lastTwo.earlier))
      }
      return (latest.counters, latest.rates(since: lastTwo.earlier))
    }
  }
}
