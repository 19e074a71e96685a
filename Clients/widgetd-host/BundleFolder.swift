import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetTimeZones

/// The folder in which the host installs bundles for callers of the daemon, with the same rules as
/// `widgetctl bundle`.
struct BundleFolder: Sendable {
  let path: String
  /// The maximum size of all texts of the differences in an answer.
  var differenceBytesMax = 1 << 20

  func carryOut(_ request: ProvideBundleRequest.Request) -> ProvideBundleAnswer.Outcome {
    let installer = BundleInstaller(path: path, timeZones: SystemTimeZones().rules)
    do throws(BundleInstallerError) {
      switch request {
      case .install(let install):
        let outcome = try installer.install(
          bytes: install.content, name: install.fileName,
          digest: install.sha256.isEmpty ? nil : install.sha256, force: install.force)
        return .install(
          InstallBundleResponse(
            bundle: installed(outcome, in: installer), formerVersion: outcome.former ?? "",
            warnings: outcome.warnings + [outcome.removalWarning].compactMap(\.self),
            formerID: outcome.formerID ?? "", isUnchanged: outcome.isUnchanged))
      case .list:
        return .list(
          ListBundlesResponse(
            bundles: try installer.list().map(BundleFolder.installed), folder: path))
      case .delete(let delete):
        let others = delete.force ? installer.othersRemoved(with: delete.id) : []
        try installer.remove(delete.id, force: delete.force)
        return .delete(DeleteBundleResponse(warnings: others))
      case .rollback(let rollback):
        let outcome = try installer.rollback(
          rollback.id, to: rollback.version.isEmpty ? nil : rollback.version)
        return .rollback(
          RollbackBundleResponse(
            bundle: installed(outcome, in: installer), formerVersion: outcome.former ?? "",
            warnings: outcome.warnings, formerID: outcome.formerID ?? "",
            kinds: outcome.bundle.kinds.map { BundleFolder.fields(of: $0.kind) }))
      case .setDefaults(let set):
        if !set.values.isEmpty || !set.unset.isEmpty {
          try installer.changeSettings(of: set.id, to: set.values, unset: set.unset)
        }
        return .setDefaults(BundleFolder.settings(try installer.configured(set.id).defaults))
      case .diff(let diff):
        let found = try installer.read(bytes: diff.content, name: diff.fileName)
        return .diff(answer(found, try installer.differences(to: found)))
      case .unknown:
        return .error(
          RPCStatus(
            code: .unimplemented,
            message:
              "This widgetd-host does not know that call; install the daemon's version of it."))
      }
    } catch {
      return .error(BundleFolder.status(error))
    }
  }

  /// A kind with the parts that decide which values fit.
  private static func fields(of kind: Kind) -> Kind {
    Kind(
      name: kind.name, parameters: kind.parameters, data: kind.data, isOpen: kind.isOpen)
  }

  /// The installed bundle after a change; if it cannot be read again, the outcome of the change.
  private func installed(_ outcome: BundleInstaller.Outcome, in installer: BundleInstaller)
    -> InstalledBundle
  {
    let known = try? installer.list().first { $0.id == outcome.bundle.id }
    if let known { return BundleFolder.installed(known) }
    return InstalledBundle(
      id: outcome.bundle.id, version: outcome.bundle.version, folder: "\(path)/\(outcome.bundle.id)"
    )
  }

  private static func settings(_ defaults: BundleDefaults) -> SetBundleDefaultsResponse {
    SetBundleDefaultsResponse(
      settings: defaults.fields.map { field in
        BundleSetting(
          name: field.name, type: "\(field.type)", value: defaults.values[field.name],
          defaultValue: field.defaultValue, summary: field.summary)
      }, warnings: defaults.wholeProblems)
  }

  private func answer(
    _ found: BundleInstaller.Found, _ change: (isInstalled: Bool, differences: [BundleDifference])
  ) -> DiffBundleResponse {
    var response = DiffBundleResponse(
      id: found.bundle.id, version: found.bundle.version, isInstalled: change.isInstalled)
    var bytes = 0
    for difference in change.differences {
      bytes += difference.path.utf8.count
      bytes += (difference.before?.utf8.count ?? 0) + (difference.after?.utf8.count ?? 0)
      guard bytes <= differenceBytesMax else { break }
      response.differences.append(
        .init(path: difference.path, before: difference.before, after: difference.after))
    }
    response.omitted = UInt32(
      clamping: change.differences.count - response.differences.count)
    return response
  }

  private static func installed(_ item: BundleInstaller.Installed) -> InstalledBundle {
    var result = InstalledBundle(
      id: item.id, folder: item.folder, sha256: item.digest ?? "",
      formerVersion: item.former ?? "")
    switch item.bundle {
    case .success(let bundle):
      result.version = bundle.version
      result.kinds = bundle.kinds.map(\.kind.name.rawValue)
      let widgets = bundle.widgets.filter { $0.id != nil }
      result.widgets = widgets.compactMap { $0.id?.rawValue }
      result.widgetKinds = widgets.map(\.kind.rawValue)
    case .failure(let error): result.problem = status(error).message
    }
    return result
  }

  private static func status(_ error: BundleInstallerError) -> RPCStatus {
    func status(_ code: StatusCode, _ reason: String, _ message: String) -> RPCStatus {
      RPCStatus(code: code, message: message, errorInfo: ErrorInfo(reason: reason))
    }
    switch error {
    case .invalid(let file, let invalid):
      let lines = invalid.problems.map { problem in
        "\(file):\(problem.line):\(problem.column): \(problem.message)"
          + (problem.hint.isEmpty ? "" : " (\(problem.hint))")
      }
      return status(
        .invalidArgument, "BUNDLE_INVALID",
        (lines + (invalid.untold > 0 ? ["and \(invalid.untold) more"] : [])).joined(separator: "\n")
      )
    case .refused(let message, let hint):
      return status(
        .invalidArgument, "BUNDLE_INVALID", BundleInstallerError.text(message, hint: hint))
    case .notFound(let message, let hint):
      return status(.notFound, "BUNDLE_NOT_FOUND", BundleInstallerError.text(message, hint: hint))
    case .system(let message, let number):
      return status(
        BundleInstallerError.isFull(number) ? .resourceExhausted : .failedPrecondition,
        "BUNDLE_FOLDER_FAILED",
        "widgetd-host: \(BundleInstallerError.text(message, errno: number))")
    }
  }
}
