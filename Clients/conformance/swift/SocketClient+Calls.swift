import WidgetClient

extension SocketClient {
  typealias Call =
    @Sendable (WidgetClient, [UInt8], CallOptions) async throws(Ending) -> [UInt8]

  /// The library's functions by the full names of their methods.
  static let calls: [String: Call] = {
    let widgets: [String: Call] = [
      "CreateWidget": typed { c, r, o throws(ClientError) in try await c.createWidget(r, options: o)
      },
      "GetWidget": typed { c, r, o throws(ClientError) in try await c.getWidget(r, options: o) },
      "ListWidgets": typed { c, r, o throws(ClientError) in try await c.listWidgets(r, options: o)
      },
      "UpdateWidget": typed { c, r, o throws(ClientError) in try await c.updateWidget(r, options: o)
      },
      "DeleteWidget": typed { c, r, o throws(ClientError) in try await c.deleteWidget(r, options: o)
      },
      "SetPresence": typed { c, r, o throws(ClientError) in try await c.setPresence(r, options: o)
      },
      "MoveWidget": typed { c, r, o throws(ClientError) in try await c.moveWidget(r, options: o) },
      "ApplyWidgets": typed { c, r, o throws(ClientError) in try await c.applyWidgets(r, options: o)
      },
      "RefreshWidgets": typed { c, r, o throws(ClientError) in
        try await c.refreshWidgets(r, options: o)
      },
      "SendEvent": typed { c, r, o throws(ClientError) in try await c.sendEvent(r, options: o) },
      "Unsubscribe": typed { c, r, o throws(ClientError) in try await c.unsubscribe(r, options: o)
      },
      "RequestProgress": typed { c, r, o throws(ClientError) in
        try await c.requestProgress(r, options: o)
      },
    ]
    let activities: [String: Call] = [
      "StartActivity": typed { c, r, o throws(ClientError) in
        try await c.startActivity(r, options: o)
      },
      "UpdateActivity": typed { c, r, o throws(ClientError) in
        try await c.updateActivity(r, options: o)
      },
      "EndActivity": typed { c, r, o throws(ClientError) in try await c.endActivity(r, options: o)
      },
    ]
    let admin: [String: Call] = [
      "GetStats": typed { c, r, o throws(ClientError) in try await c.getStats(r, options: o) },
      "Reload": typed { c, r, o throws(ClientError) in try await c.reload(r, options: o) },
      "SetLogLevel": typed { c, r, o throws(ClientError) in try await c.setLogLevel(r, options: o)
      },
    ]
    let catalog: [String: Call] = [
      "ApplyKinds": typed { c, r, o throws(ClientError) in try await c.applyKinds(r, options: o) },
      "GetKind": typed { c, r, o throws(ClientError) in try await c.getKind(r, options: o) },
      "ListKinds": typed { c, r, o throws(ClientError) in try await c.listKinds(r, options: o) },
      "DeleteKind": typed { c, r, o throws(ClientError) in try await c.deleteKind(r, options: o) },
      "GetTheme": typed { c, r, o throws(ClientError) in try await c.getTheme(r, options: o) },
      "UpdateTheme": typed { c, r, o throws(ClientError) in try await c.updateTheme(r, options: o)
      },
      "InstallBundle": typed { c, r, o throws(ClientError) in
        try await c.installBundle(r, options: o)
      },
      "ListBundles": typed { c, r, o throws(ClientError) in try await c.listBundles(r, options: o)
      },
      "DeleteBundle": typed { c, r, o throws(ClientError) in try await c.deleteBundle(r, options: o)
      },
      "RollbackBundle": typed { c, r, o throws(ClientError) in
        try await c.rollbackBundle(r, options: o)
      },
      "SetBundleDefaults": typed { c, r, o throws(ClientError) in
        try await c.setBundleDefaults(r, options: o)
      },
      "DiffBundle": typed { c, r, o throws(ClientError) in try await c.diffBundle(r, options: o) },
    ]
    let timelines: [String: Call] = [
      "GetTimeline": typed { c, r, o throws(ClientError) in try await c.getTimeline(r, options: o)
      },
      "GetPlaceholder": typed { c, r, o throws(ClientError) in
        try await c.getPlaceholder(r, options: o)
      },
      "GetSnapshot": typed { c, r, o throws(ClientError) in try await c.getSnapshot(r, options: o)
      },
    ]
    let blobs: [String: Call] = [
      "UploadBlob": typed { c, r, o throws(ClientError) in try await c.uploadBlob(r, options: o) },
      "ReadBlob": typed { c, r, o throws(ClientError) in try await c.readBlob(r, options: o) },
      "DeleteBlob": typed { c, r, o throws(ClientError) in try await c.deleteBlob(r, options: o) },
    ]
    var all: [String: Call] = [
      "grpc.health.v1.Health/Check": typed { c, r, o throws(ClientError) in
        try await c.checkHealth(r, options: o)
      }
    ]
    for (name, call) in widgets { all["widgetd.v1.WidgetService/\(name)"] = call }
    for (name, call) in catalog { all["widgetd.v1.CatalogService/\(name)"] = call }
    for (name, call) in timelines { all["widgetd.v1.TimelineService/\(name)"] = call }
    for (name, call) in activities { all["widgetd.v1.ActivityService/\(name)"] = call }
    for (name, call) in blobs { all["widgetd.v1.BlobService/\(name)"] = call }
    for (name, call) in admin { all["widgetd.v1.AdminService/\(name)"] = call }
    return all
  }()

  private static func typed<Q: WireMessage, A: WireMessage>(
    _ call: @escaping @Sendable (WidgetClient, Q, CallOptions) async throws(ClientError) -> A
  ) -> Call {
    { client, bytes, options throws(Ending) in
      let request: Q = try decoded(bytes)
      return try encoded(
        try await outcome { () throws(ClientError) in try await call(client, request, options) })
    }
  }
}
