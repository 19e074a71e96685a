import WidgetCore
import WidgetModel
import WidgetProto

/// Bounds of requests.
extension ServiceContext {
  /// Refuses a request that is larger than any valid one, before it is decoded. Owners may send
  /// larger ones, such as a set of widgets.
  func checkSize(
    _ method: Method, _ payload: UnsafeRawBufferPointer
  ) throws(RPCStatus) {
    guard method.requiredLevel < .owner, !method.hasQuotaOfBytes,
      payload.count > ServiceContext.clientRequestBytesMax
    else { return }
    throw .requestTooLarge(payload.count, ServiceContext.clientRequestBytesMax)
  }

  /// The maximum size of most requests that clients may send, in bytes.
  private static let clientRequestBytesMax = 1 << 20

  /// Bounds the cost of matching one widget: the event loop does it for every widget.
  func checkTerms(_ selector: Selector, _ mask: ReadMask = .all) throws(RPCStatus) {
    let ofSelector =
      selector.ids.count + selector.kinds.count + selector.families.count
      + selector.labels.reduce(0) { $0 + 1 + $1.values.count }
    let ofMask = mask.dataKeys.count + mask.parameterKeys.count
    try checkTerms(
      ofSelector + ofMask, of: ofMask > ofSelector ? "read_mask" : "selector")
    do throws(StoreError) { try store.checkExpression(of: selector) } catch {
      throw RPCStatus(error)
    }
  }

  /// Bounds the number of widgets that a request names.
  func checkTerms(_ target: PresenceTarget) throws(RPCStatus) {
    switch target {
    case .ids(let ids): try checkTerms(ids.count, of: "ids")
    case .selector(let selector): try checkTerms(selector)
    case .all: break
    }
  }

  /// Bounds the number of elements of a request's field.
  func checkTerms(_ count: Int, of field: String) throws(RPCStatus) {
    guard count <= limits.selectorTermsMax else {
      throw .quotaExceeded("selector_terms_max", limits.selectorTermsMax, field: field)
    }
  }
}
