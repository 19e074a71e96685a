import NIOCore
import WidgetModel
import WidgetProto

/// The unread requests of a provider, in order of arrival. Only the last data request about a
/// widget is kept. Successive audience changes are merged into one.
///
/// Everything is O(1), except tidying up, whose cost is amortised over the requests since. There
/// may be a request for each of very many widgets. A removed request leaves an empty place.
///
/// Invariants: `places` has the number of the place of every data request. Places are numbered from
/// `firstNumber` on. The first one is not empty. At most half of many are empty.
struct UnreadRequests {
  private var places = CircularBuffer<ProviderRequest?>()
  private var firstNumber = 0
  private var numbers: [WidgetID: Int] = [:]
  private var emptyCount = 0

  /// The number of empty places that is always allowed.
  static let emptyMax = 64

  var isEmpty: Bool { places.isEmpty }

  /// The number of places, empty ones included.
  var placeCount: Int { places.count }

  /// Appends a request. A data request replaces an earlier one about its widget, and still comes
  /// last.
  mutating func append(_ request: ProviderRequest) {
    if case .dataRequest(let request) = request {
      forgetDataRequest(about: request.widget.id)
      numbers[request.widget.id] = firstNumber + places.count
    }
    if case .audience(let audience) = request, case .audience(let last)?? = places.last {
      places[places.index(before: places.endIndex)] = .audience(last.followed(by: audience))
      return
    }
    places.append(request)
  }

  /// Takes the first out; nil if there is none.
  mutating func popFirst() -> ProviderRequest? {
    guard let first = places.popFirst() else { return nil }
    firstNumber += 1
    if case .dataRequest(let request)? = first { numbers[request.widget.id] = nil }
    dropEmptyInFront()
    return first
  }

  /// Takes the data request about a widget out, if there is one.
  mutating func forgetDataRequest(about id: WidgetID) {
    guard let number = numbers.removeValue(forKey: id) else { return }
    places[places.index(places.startIndex, offsetBy: number - firstNumber)] = nil
    emptyCount += 1
    dropEmptyInFront()
    if emptyCount > max(UnreadRequests.emptyMax, places.count / 2) { tidyUp() }
  }

  mutating func removeAll() { self = UnreadRequests() }

  private mutating func dropEmptyInFront() {
    while let first = places.first, first == nil {
      places.removeFirst()
      firstNumber += 1
      emptyCount -= 1
    }
  }

  private mutating func tidyUp() {
    let kept = places.compactMap { $0 }
    removeAll()
    for request in kept { append(request) }
  }
}

extension ProvideAudience {
  /// Merges this difference with a later one.
  fileprivate func followed(by later: ProvideAudience) -> ProvideAudience {
    let (attached, detached) = (Set(later.attached), Set(later.detached))
    return ProvideAudience(
      attached: self.attached.filter { !attached.contains($0) && !detached.contains($0) }
        + later.attached,
      detached: self.detached.filter { !attached.contains($0) && !detached.contains($0) }
        + later.detached)
  }
}
