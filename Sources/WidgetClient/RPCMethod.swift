/// The full name of a method.
struct RPCMethod: Hashable, Sendable {
  let service: String
  let name: String

  private init(widget name: String) {
    service = "widgetd.v1.WidgetService"
    self.name = name
  }

  private init(catalog name: String) {
    service = "widgetd.v1.CatalogService"
    self.name = name
  }

  private init(blob name: String) {
    service = "widgetd.v1.BlobService"
    self.name = name
  }

  private init(provider name: String) {
    service = "widgetd.v1.ProviderService"
    self.name = name
  }

  private init(admin name: String) {
    service = "widgetd.v1.AdminService"
    self.name = name
  }

  private init(health name: String) {
    service = "grpc.health.v1.Health"
    self.name = name
  }

  static let createWidget = RPCMethod(widget: "CreateWidget")
  static let getWidget = RPCMethod(widget: "GetWidget")
  static let listWidgets = RPCMethod(widget: "ListWidgets")
  static let updateWidget = RPCMethod(widget: "UpdateWidget")
  static let deleteWidget = RPCMethod(widget: "DeleteWidget")
  static let setPresence = RPCMethod(widget: "SetPresence")
  static let moveWidget = RPCMethod(widget: "MoveWidget")
  static let applyWidgets = RPCMethod(widget: "ApplyWidgets")
  static let sendEvent = RPCMethod(widget: "SendEvent")
  static let watchWidgets = RPCMethod(widget: "WatchWidgets")
  static let watchEvents = RPCMethod(widget: "WatchEvents")
  static let refreshWidgets = RPCMethod(widget: "RefreshWidgets")
  static let provide = RPCMethod(provider: "Provide")
  static let unsubscribe = RPCMethod(widget: "Unsubscribe")
  static let requestProgress = RPCMethod(widget: "RequestProgress")
  static let applyKinds = RPCMethod(catalog: "ApplyKinds")
  static let getKind = RPCMethod(catalog: "GetKind")
  static let listKinds = RPCMethod(catalog: "ListKinds")
  static let deleteKind = RPCMethod(catalog: "DeleteKind")
  static let getTheme = RPCMethod(catalog: "GetTheme")
  static let updateTheme = RPCMethod(catalog: "UpdateTheme")
  static let installBundle = RPCMethod(catalog: "InstallBundle")
  static let listBundles = RPCMethod(catalog: "ListBundles")
  static let deleteBundle = RPCMethod(catalog: "DeleteBundle")
  static let rollbackBundle = RPCMethod(catalog: "RollbackBundle")
  static let setBundleDefaults = RPCMethod(catalog: "SetBundleDefaults")
  static let diffBundle = RPCMethod(catalog: "DiffBundle")
  static let uploadBlob = RPCMethod(blob: "UploadBlob")
  static let readBlob = RPCMethod(blob: "ReadBlob")
  static let deleteBlob = RPCMethod(blob: "DeleteBlob")
  static let getStats = RPCMethod(admin: "GetStats")
  static let reload = RPCMethod(admin: "Reload")
  static let setLogLevel = RPCMethod(admin: "SetLogLevel")
  static let checkHealth = RPCMethod(health: "Check")
}
