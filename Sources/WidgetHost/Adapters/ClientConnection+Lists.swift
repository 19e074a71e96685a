import WidgetClient
public import WidgetModel

// The kinds and widgets that the daemon has.
extension ClientConnection {
  public func standing(
    kinds: [KindName], widgets: [WidgetID]
  ) async throws(Failure) -> Circumstances {
    var result = Circumstances()
    for name in kinds {
      do throws(ClientError) {
        let kind = try await client.getKind(GetKindRequest(name: name), options: options).kind
        result.kinds.insert(
          .init(name: name, provider: kind.provider, revision: kind.revision))
      } catch {
        guard error.status?.code == .notFound else { throw Failure(error) }
      }
    }
    guard !widgets.isEmpty else { return result }
    for known in try await self.widgets(Selector(ids: widgets)).map(\.widget) {
      result.widgets.insert(
        .init(id: known.id, kind: known.kind, applySet: known.applySet, ownerUID: known.ownerUID))
    }
    return result
  }

  public func registeredKinds() async throws(Failure) -> Circumstances {
    var result = Circumstances()
    var request = ListKindsRequest()
    var tokens = PageTokens()
    do throws(ClientError) {
      repeat {
        let page = try await client.listKinds(request, options: options)
        for kind in page.kinds {
          result.kinds.insert(
            .init(name: kind.kind.name, provider: kind.provider, revision: kind.revision))
        }
        request.pageToken = try tokens.next(page.nextPageToken)
      } while !request.pageToken.isEmpty
    } catch {
      throw Failure(error)
    }
    return result
  }

  public func widgets(kinds: [KindName], _ mask: ReadMask) async throws(Failure) -> [ListedWidget] {
    try await widgets(Selector(kinds: kinds), mask)
  }

  private func widgets(
    _ selector: Selector, _ mask: ReadMask = .all
  ) async throws(Failure) -> [ListedWidget] {
    var widgets: [ListedWidget] = []
    var request = ListWidgetsRequest(selector: selector, readMask: mask)
    var tokens = PageTokens()
    do throws(ClientError) {
      repeat {
        let page = try await client.listWidgets(request, options: options)
        widgets += page.widgets.map {
          ListedWidget(widget: $0.widget, etag: $0.etag, owners: $0.owners)
        }
        request.pageToken = try tokens.next(page.nextPageToken)
      } while !request.pageToken.isEmpty
    } catch {
      throw Failure(error)
    }
    return widgets
  }
}
