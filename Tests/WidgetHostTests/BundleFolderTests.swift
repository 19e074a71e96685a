import Foundation
import Glibc
import Testing
import WidgetBundle

@testable import WidgetHost

/// What is found in folders of bundles.
struct BundleFolderTests {
  /// A folder with a bundle's folder in it that goes when the test ends.
  private final class Place {
    let path = "\(FileManager.default.temporaryDirectory.path)/folders-\(UUID().uuidString)"
    var bundle: String { "\(path)/desk" }

    init(_ file: String? = "bundle.yaml") throws {
      try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
      if let file { try Data("text".utf8).write(to: URL(fileURLWithPath: "\(bundle)/\(file)")) }
    }

    deinit {
      chmod(path, 0o700)
      chmod(bundle, 0o700)
      try? FileManager.default.removeItem(atPath: path)
    }
  }

  private func look(into folder: String) -> String {
    let refuse: BundleFolders.Reader = { text, settings in
      .failure(BundleRefusal(problems: ["1:1: read: \(text)\(settings ?? "")"]))
    }
    switch BundleFolders.look(into: folder, refuse) {
    case .broken(let problem, _): return problem
    case .bundle, nil: return "nothing"
    }
  }

  /// Does something as a user who is not root: root may read everything. The thread alone is another's.
  private func asNobody<T>(_ body: () -> T) throws -> T {
    guard geteuid() == 0 else { return body() }
    // setfsuid(2), which Swift's module of the C library does not have.
    typealias SetUser = @convention(c) (uid_t) -> CInt
    let setUser = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: SetUser.self)
    _ = setUser(65_534)
    defer { _ = setUser(0) }
    return body()
  }

  @Test func `a folder without a bundle's file is not a bundle`() throws {
    let place = try Place(nil)
    #expect(look(into: place.bundle) == "nothing")
    #expect(look(into: place.path + "/none") == "nothing")
    #expect(BundleFolders.subfolders(of: place.path) == [FileReading.resolved(place.bundle)])
  }

  @Test(arguments: [0o000, 0o600] as [mode_t])
  func `a bundle's folder that nobody may look into says so`(mode: mode_t) throws {
    let place = try Place()
    chmod(place.path, 0o755)
    chmod(place.bundle, mode)
    let told = try asNobody { look(into: place.bundle) }
    #expect(told.hasPrefix("\(place.bundle): "))
    #expect(told.contains("may not read this folder"))
    #expect(told.contains("chmod -R a+rX \(place.bundle)"))
    chmod(place.bundle, 0o755)
    #expect(try asNobody { look(into: place.bundle) }.hasSuffix("read: text"))
  }

  @Test func `a folder of bundles that nobody may look into is told of like one`() throws {
    let place = try Place()
    chmod(place.path, 0o700)
    if geteuid() != 0 { chmod(place.path, 0o000) }
    #expect(try asNobody { BundleFolders.subfolders(of: place.path) } == [place.path])
    #expect(try asNobody { look(into: place.path) }.contains("may not read this folder"))
    chmod(place.path, 0o755)
    #expect(try asNobody { BundleFolders.subfolders(of: place.path) } == [place.bundle])
  }
}
