extension Duration {
  /// Whole nanoseconds, rounded towards zero; nil if an `Int64` cannot hold them.
  package var checkedNanoseconds: Int64? {
    let (seconds, attoseconds) = components
    let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carries) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflows || carries ? nil : sum
  }

  /// Whole nanoseconds, rounded towards zero, and clamped to the range of an `Int64`.
  package var nanoseconds: Int64 { checkedNanoseconds ?? (self < .zero ? .min : .max) }
}
