import WidgetProto

/// The calls of CatalogService about bundles: see `BundleCalls`.
extension ServiceLoop {
  /// InstallBundle.
  func installBundle(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    try sendToHost(
      .install(try context.decode(InstallBundleRequest.self, payload)), .installBundle, call,
      responder)
  }

  /// ListBundles.
  func listBundles(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    try sendToHost(
      .list(try context.decode(ListBundlesRequest.self, payload)), .listBundles, call, responder)
  }

  /// DeleteBundle.
  func deleteBundle(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    try sendToHost(
      .delete(try context.decode(DeleteBundleRequest.self, payload)), .deleteBundle, call, responder
    )
  }

  /// RollbackBundle.
  func rollbackBundle(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    try sendToHost(
      .rollback(try context.decode(RollbackBundleRequest.self, payload)), .rollbackBundle, call,
      responder)
  }

  /// SetBundleDefaults.
  func setBundleDefaults(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    try sendToHost(
      .setDefaults(try context.decode(SetBundleDefaultsRequest.self, payload)), .setBundleDefaults,
      call, responder)
  }

  /// DiffBundle.
  func diffBundle(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    try sendToHost(
      .diff(try context.decode(DiffBundleRequest.self, payload)), .diffBundle, call, responder)
  }

  private func sendToHost(
    _ request: ProvideBundleRequest.Request, _ method: Method, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    try providers.bundleCalls.begin(
      request, of: method, call, responder, manager: providers.table.bundleManager,
      silence: providers.silent.ofBundleManager)
  }
}
