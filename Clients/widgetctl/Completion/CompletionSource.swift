import ArgumentParser
import WidgetClient
import WidgetModel

/// The daemon, which gives the names for completion within a second.
///
/// A shell shows no errors during completion. Without an answer, there is no completion.
struct CompletionSource: Sendable {
  let client: WidgetClient
  private let end = ContinuousClock.now + .seconds(1)

  init(client: WidgetClient) { self.client = client }

  private var options: CallOptions {
    CallOptions(timeout: ContinuousClock.now.duration(to: end))
  }

  func ids() async -> [String] {
    await widgets(ListWidgetsRequest(pageSize: 1000, readMask: .idsOnly)).map(\.id.rawValue)
  }

  func bundles() async -> [String] {
    guard let kind = KindName("bundle") else { return [] }
    let request = ListWidgetsRequest(
      selector: Selector(kinds: [kind]), pageSize: 1000, readMask: .setsOnly)
    return CompletionNames.bundles(await widgets(request))
  }

  private func widgets(_ request: ListWidgetsRequest) async -> [Widget] {
    let answer = try? await client.listWidgets(request, options: options)
    return (answer?.widgets ?? []).map(\.widget)
  }

  func kinds() async -> [Kind] {
    let answer = try? await client.listKinds(ListKindsRequest(pageSize: 1000), options: options)
    return (answer?.kinds ?? []).map(\.kind)
  }

  func tokens() async -> [String] {
    (try? await client.getTheme(options: options))?.theme.values.keys.sorted() ?? []
  }

  func widget(_ id: WidgetID?) async -> Widget? {
    guard let id else { return nil }
    return try? await client.getWidget(GetWidgetRequest(id: id), options: options).widget
  }

  func kind(_ name: KindName?) async -> Kind? {
    guard let name else { return nil }
    return try? await client.getKind(GetKindRequest(name: name), options: options).kind.kind
  }
}

extension CompletionKind {
  /// Completes with names that the daemon knows.
  static func asking(
    _ names: @Sendable @escaping (CompletionLine, CompletionSource) async -> [String]
  ) -> CompletionKind {
    .custom { (words: [String], index: Int, prefix: String) async -> [String] in
      let line = CompletionLine(words, at: index)
      guard !line.isValue, let path = try? SocketPath.discover(explicit: line.socket) else {
        return []
      }
      let source = CompletionSource(client: WidgetClient(socketPath: path))
      return await names(line, source).filter { $0.hasPrefix(prefix) }
    }
  }
}

/// Completes with the ids of widgets.
let idCompletion = CompletionKind.asking { _, source in await source.ids() }

/// Completes with the ids of bundles.
let bundleCompletion = CompletionKind.asking { _, source in await source.bundles() }

/// Completes with kinds.
let kindCompletion = CompletionKind.asking { _, source in
  await source.kinds().map(\.name.rawValue)
}

/// Completes with the theme's tokens.
let themeTokenCompletion = CompletionKind.asking { _, source in await source.tokens() }

/// Completes with the nodes of the widget on the command line.
let nodeCompletion = CompletionKind.asking { line, source in
  (await source.widget(line.widget)?.content?.nodes ?? []).map(\.id)
}

/// Completes with the events that the widget takes.
let eventCompletion = CompletionKind.asking { line, source in
  guard let widget = await source.widget(line.widget) else { return [] }
  let nodes = widget.content?.nodes ?? []
  let node = line.value(of: "--node")
  guard node == nil else { return CompletionNames.events(of: nil, nodes, node: node) }
  return CompletionNames.events(of: await source.kind(widget.kind), nodes, node: nil)
}

/// Completes with the fields of the event, each with `=`.
let payloadCompletion = CompletionKind.asking { line, source in
  guard let event = line.arguments.dropFirst(2).first, line.value(of: "--node") == nil,
    let widget = await source.widget(line.widget)
  else { return [] }
  return CompletionNames.payload(of: event, await source.kind(widget.kind))
}

/// Completes with the inputs of the widget's forms, each with `=`.
let inputCompletion = CompletionKind.asking { line, source in
  CompletionNames.inputs(await source.widget(line.widget)?.content?.nodes ?? [])
}

/// Completes with the data keys of the widget, each with `=`.
let dataCompletion = CompletionKind.asking { line, source in
  guard let widget = await source.widget(line.widget) else { return [] }
  return CompletionNames.assignments(of: widget, await source.kind(widget.kind))
}

/// Completes with the data keys of a new widget's kind, each with `=`.
let newDataCompletion = CompletionKind.asking { line, source in
  CompletionNames.assignments(of: nil, await source.kind(line.kind))
}

/// Completes with the fields of a widget: those of the first widget on the command line, or those
/// that kinds declare.
let fieldCompletion = CompletionKind.asking { line, source in
  if let id = line.widget {
    let widget = await source.widget(id)
    let kind = await source.kind(widget?.kind)
    return CompletionNames.fields(of: widget, [kind].compactMap(\.self))
  }
  let kinds = await source.kinds()
  guard let name = line.value(of: "--kind") else {
    return CompletionNames.fields(of: nil, kinds)
  }
  return CompletionNames.fields(of: nil, kinds.filter { $0.name.rawValue == name })
}
