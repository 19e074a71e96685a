// swift-tools-version: 6.2
import PackageDescription

/// Settings of every Swift target of this package.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// Settings of the targets that carry out every call: a release build does not check that accesses to memory
/// exclude each other. Debug builds do, and all tests run with them. No library product may have these
/// targets, because SwiftPM refuses a dependency with such flags
/// (https://github.com/swiftlang/swift-package-manager/issues/9145).
let unchecked: [SwiftSetting] = [
  .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))
]

/// How releases are linked. The toolchain's own linker (lld) packs the addresses that the loader fills in,
/// which are 2 to 3 MB otherwise (glibc 2.36 and later read them).
///
/// Modules that no code here reaches are left out by name. The linker keeps them otherwise: on Linux, the
/// compiler marks the tables of types as retained, also for `--gc-sections`
/// (https://github.com/swiftlang/swift/pull/72061). If a program calls a module that is left out, the program
/// does not link.
///
/// A program without Foundation has `CFoundationStubs` instead. Of a program without unwinding,
/// debuggers guess the backtraces; only a short-lived program is linked so.
func release(
  withoutModules modules: [String] = [], withoutFoundation: Bool = false,
  withoutUnwinding: Bool = false
) -> [LinkerSetting] {
  var options = ["-z", "pack-relative-relocs"]
  options += modules.map { "--remap-inputs=*/\($0).build/*=/dev/null" }
  if withoutFoundation { options.append("--remap-inputs=*/libFoundationEssentials.a=/dev/null") }
  if withoutUnwinding {
    options.append("--script=\(Context.packageDirectory)/scripts/lib/without-unwinding.ld")
  }
  return [
    .unsafeFlags(
      ["-use-ld=lld"] + options.flatMap { ["-Xlinker", $0] },
      .when(platforms: [.linux], configuration: .release))
  ]
}

/// What the daemon never calls: modules of its dependencies for other systems and for tests.
let unusedByDaemon = ["NIOEmbedded", "NIOTransportServices"]

let nio = "swift-nio"
let nioCore = Target.Dependency.product(name: "NIOCore", package: nio)
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: nio)
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: nio)
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let collections = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heaps = Target.Dependency.product(name: "HeapModule", package: "swift-collections")

/// gRPC beside ttrpc. `swift build --disable-default-traits` builds a daemon without HTTP/2 and TLS.
let grpcTrait = "GRPC"
let withGRPC = TargetDependencyCondition.when(traits: [grpcTrait])
/// The daemon needs the core of grpc-swift's transport alone, because it has listeners of its own. No product is
/// only the core. That for Apple's systems comes closest: elsewhere, it adds nothing. `GRPCNIOTransportHTTP2Posix`
/// would add TLS, which takes a sixth of the build.
let grpc: [Target.Dependency] = [
  .product(name: "GRPCCore", package: "grpc-swift-2", condition: withGRPC),
  .product(
    name: "GRPCNIOTransportHTTP2TransportServices", package: "grpc-swift-nio-transport",
    condition: withGRPC),
  .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: withGRPC),
  .product(name: "NIOHPACK", package: "swift-nio-http2", condition: withGRPC),
]

/// The targets that the fuzzers call, without those of gRPC.
let fuzzed: [Target.Dependency] = [
  "CSQLite", "CWidgetProto", "MessageTypes", "WidgetBundle", "WidgetBundleInstaller", "WidgetCore",
  "WidgetExpression", "WidgetModel", "WidgetProto", "WidgetStorage", "WidgetTransport", nioCore,
]

let package = Package(
  name: "widgetd",
  products: [
    .executable(name: "widgetd", targets: ["widgetd"]),
    .executable(name: "widgetctl", targets: ["widgetctl"]),
    .executable(name: "widgetd-sysmon", targets: ["widgetd-sysmon"]),
    .executable(name: "widgetd-host", targets: ["widgetd-host"]),
    .library(name: "WidgetClient", targets: ["WidgetClient", "WidgetModel"]),
    .library(name: "WidgetProvider", targets: ["WidgetProvider", "WidgetClient", "WidgetModel"]),
  ],
  traits: [
    .default(enabledTraits: [grpcTrait]),
    .trait(name: grpcTrait, description: "The daemon answers gRPC on its socket, beside ttrpc."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
    .package(url: "https://github.com/grpc/grpc-swift-2", exact: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", exact: "2.9.2"),
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
    // No trait: JSON needs all of Foundation and with it 45 MB of ICU. Other packages leave the traits out
    // for the same reason (https://github.com/vapor/console-kit/pull/241).
    .package(url: "https://github.com/apple/swift-configuration", exact: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
    // HTTP for bundles; only widgetd-host links it.
    .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
  ],
  targets: [
    // The threads on which a program's tasks run.
    .target(name: "CTimerFile"),
    .target(
      name: "TaskThreads", dependencies: ["CTimerFile", collections, heaps]),

    // Releases of some programs have it in place of FoundationEssentials.
    .target(
      name: "CFoundationStubs",
      cSettings: [.define("WIDGETD_RELEASE", .when(platforms: [.linux], configuration: .release))]),

    // The domain, free of I/O. These import no Foundation, NIO or protobuf.
    .target(
      name: "WidgetModel",
      linkerSettings: [.linkedLibrary("m")]),  // The standard library rounds doubles with it.
    .target(
      name: "WidgetExpression", dependencies: ["WidgetModel"],
      exclude: ["Text/generate-folding-table", "Text/generate-date-names"],
      linkerSettings: [.linkedLibrary("m")]),  // The same.
    .target(
      name: "WidgetCore", dependencies: ["WidgetExpression", "WidgetModel", collections],
      swiftSettings: unchecked),
    // What widgets show, measured and placed.
    .target(
      name: "WidgetLayout", dependencies: ["WidgetModel"],
      exclude: ["Text/generate-width-table"]),
    // The system's time zones, for expressions.
    .target(
      name: "WidgetTimeZones", dependencies: ["WidgetExpression"]),

    // YAML, read by libyaml. Yams needs all of Foundation and with it 36 MB of ICU.
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .target(name: "WidgetYAML", dependencies: ["CYAML", "WidgetModel"]),

    // Bundles: widgets without code, read and checked.
    .target(
      name: "WidgetBundle",
      dependencies: ["WidgetExpression", "WidgetModel", "WidgetYAML"]),

    // The folder of bundles.
    .target(name: "CLibArchive"),
    .target(
      name: "WidgetBundleInstaller",
      dependencies: ["CLibArchive", "WidgetBundle", "WidgetExpression", "WidgetModel"]),

    // What widgets look like, in cells: text, escape sequences, HTML.
    .target(
      name: "WidgetRender", dependencies: ["WidgetLayout", "WidgetModel"]),
    // The same as values: shapes and text in points, for SVG and for pixels.
    .target(
      name: "WidgetDrawing", dependencies: ["WidgetLayout", "WidgetModel", "WidgetRender"],
      exclude: ["generate-advance-table"],
      linkerSettings: [.linkedLibrary("m")]),
    // The same as pixels, by cairo and pango.
    .target(name: "CCairo", linkerSettings: [.linkedLibrary("m")]),
    .target(
      name: "WidgetCairo",
      dependencies: ["CCairo", "WidgetDrawing", "WidgetLayout", "WidgetModel", "WidgetRender"]),
    // What widgets look like in status bars.
    .target(
      name: "WidgetBar", dependencies: ["WidgetLayout", "WidgetModel"]),
    // The terminal of a live view: modes, keys, size, putting it right.
    .target(
      name: "WidgetTerminal", dependencies: ["WidgetModel", "WidgetProcess", "WidgetRender"]),

    // Messages: generated C, its runtime guards, and conversion to the domain.
    .systemLibrary(
      name: "CProtobufC", pkgConfig: "libprotobuf-c", providers: [.apt(["libprotobuf-c-dev"])]),
    .target(name: "CWidgetProto", dependencies: ["CProtobufC"]),
    .target(
      name: "WidgetProto", dependencies: ["CWidgetProto", "WidgetModel"]),

    // Frames and streams: knows bytes, not messages.
    .target(name: "WidgetTransport", dependencies: [nioCore]),
    // Times of the wall clock on an event loop.
    .target(
      name: "WidgetTimers", dependencies: ["CTimerFile", "WidgetModel", nioCore, nioPosix]),

    // Durability.
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(
      name: "WidgetStorage", dependencies: ["CSQLite", "WidgetCore", "WidgetModel", "WidgetProto"],
      swiftSettings: unchecked),

    // Signals and threads of a process: imports only the C library.
    .target(name: "WidgetProcess"),

    // Living under systemd: imports nothing but the C library.
    .target(name: "WidgetSystemd"),

    // The daemon.
    .target(
      name: "WidgetServer",
      dependencies: [
        "WidgetCore", "WidgetModel", "WidgetProto", "WidgetStorage", "WidgetTimeZones",
        "WidgetTimers", "WidgetTransport", heaps, nioCore, nioPosix, logging,
      ],
      swiftSettings: unchecked),
    .target(
      name: "WidgetGRPC",
      dependencies: ["WidgetServer", "WidgetProto", "WidgetTransport", nioCore, nioPosix, logging]
        + grpc),
    .executableTarget(
      name: "widgetd",
      dependencies: [
        "TaskThreads", "WidgetCore", "WidgetModel", "WidgetProcess", "WidgetServer",
        "WidgetStorage", "WidgetSystemd", arguments, logging,
        .target(name: "WidgetGRPC", condition: withGRPC),
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      linkerSettings: release(withoutModules: unusedByDaemon)),

    // Clients.
    .target(
      name: "WidgetClient",
      dependencies: [
        "WidgetModel", "WidgetProto", "WidgetTimers", "WidgetTransport", nioCore, nioPosix,
      ]),
    // Widgets in Swift, with types.
    .target(
      name: "WidgetProvider",
      dependencies: [
        "WidgetClient", "WidgetModel", "WidgetProcess", "WidgetSystemd", "WidgetTimers",
      ]),
    .executableTarget(
      name: "widgetctl",
      dependencies: [
        "TaskThreads", "WidgetBar", "WidgetBundle", "WidgetBundleInstaller", "WidgetCairo",
        "WidgetClient", "WidgetDrawing", "WidgetExpression", "WidgetLayout", "WidgetModel",
        "WidgetProcess", "WidgetProto", "WidgetRender", "WidgetStorage", "WidgetTerminal",
        "WidgetTimeZones", "WidgetTimers", "WidgetYAML", arguments, "CFoundationStubs",
      ],
      path: "Clients/widgetctl",
      // It has a hundred commands and no hot path.
      swiftSettings: [.unsafeFlags(["-Osize"], .when(configuration: .release))],
      linkerSettings: release(withoutFoundation: true, withoutUnwinding: true)),
    .executableTarget(
      name: "widgetd-sysmon",
      dependencies: [
        "TaskThreads", "WidgetClient", "WidgetModel", "WidgetProcess", "WidgetProvider",
        "WidgetSystemd", "WidgetTimers", arguments, "CFoundationStubs",
      ],
      path: "Clients/widgetd-sysmon",
      linkerSettings: release(withoutFoundation: true)),

    // Bundles, run. What it touches is in the adapters; the rest is a state machine.
    .target(name: "CHostSystem"),
    // D-Bus, by systemd's library.
    .systemLibrary(
      name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .target(
      name: "WidgetHost",
      dependencies: [
        "CHostSystem", "CSystemd", "WidgetBundle", "WidgetClient", "WidgetExpression",
        "WidgetModel", "WidgetProcess", "WidgetTimers", nioCore, nioPosix,
        .product(name: "NIOHTTP1", package: nio),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
      ]),
    .executableTarget(
      name: "widgetd-host",
      dependencies: [
        "TaskThreads", "WidgetBundle", "WidgetBundleInstaller", "WidgetClient", "WidgetHost",
        "WidgetModel", "WidgetProcess", "WidgetSystemd", "WidgetTimeZones", arguments,
      ],
      path: "Clients/widgetd-host",
      linkerSettings: release(withoutModules: ["NIOEmbedded"])),

    // The conformance suite's drivers for Swift. See Clients/conformance/README.md.
    .executableTarget(
      name: "widgetd-conformance",
      dependencies: [
        "WidgetClient", "WidgetProto", "WidgetServer", "WidgetStorage", nioCore, logging,
      ],
      path: "Clients/conformance/swift"),

    // Measured beside nothing else: the state machine alone. See benchmarks/core/run. They are linked as
    // releases are, because benchmarks/build has flags for the linker of releases.
    .executableTarget(
      name: "widgetd-core-benchmark", dependencies: ["WidgetCore", "WidgetModel"],
      path: "benchmarks/core", exclude: ["run"], linkerSettings: release()),
    .executableTarget(
      name: "widgetd-timeline-benchmark", dependencies: ["WidgetCore", "WidgetModel"],
      path: "benchmarks/timelines", exclude: ["run"], linkerSettings: release()),
    .executableTarget(
      name: "widgetd-layout-benchmark", dependencies: ["WidgetLayout", "WidgetModel"],
      path: "benchmarks/layout", exclude: ["run"], linkerSettings: release()),
    .executableTarget(
      name: "widgetd-mirror-benchmark", dependencies: ["WidgetModel"],
      path: "benchmarks/mirrors", exclude: ["run", "mirror.c", "mirror.py"],
      linkerSettings: release()),

    // Tests.
    .target(name: "SeededRandom", path: "Tests/Support/Random"),
    .target(name: "TestThreads", path: "Tests/Support/Threads"),
    .target(
      name: "NodeSamples", dependencies: ["SeededRandom", "WidgetModel"],
      path: "Tests/Support/Nodes"),
    .target(
      name: "MessageTypes", dependencies: ["WidgetModel", "WidgetProto"],
      path: "Tests/Support/Messages"),
    .testTarget(
      name: "WidgetdSysmonTests",
      dependencies: [
        "widgetd-sysmon", "WidgetClient", "WidgetModel", "WidgetProvider", "WidgetServer",
        "WidgetStorage", logging,
      ]),
    .testTarget(name: "TaskThreadsTests", dependencies: ["TaskThreads"]),
    .testTarget(
      name: "WidgetModelTests", dependencies: ["SeededRandom", "WidgetModel"]),
    .testTarget(
      name: "WidgetExpressionTests",
      dependencies: ["SeededRandom", "WidgetExpression", "WidgetModel"]),
    .testTarget(name: "WidgetYAMLTests", dependencies: ["SeededRandom", "WidgetYAML"]),
    .testTarget(
      name: "WidgetBundleTests",
      dependencies: [
        "SeededRandom", "WidgetBundle", "WidgetCore", "WidgetExpression", "WidgetModel",
        "WidgetRender",
      ],
      exclude: ["Golden", "Samples"]),
    .testTarget(
      name: "WidgetBundleInstallerTests",
      dependencies: ["WidgetBundleInstaller", "WidgetModel", "WidgetBundle"]),
    .testTarget(
      name: "WidgetCoreTests",
      dependencies: [
        "SeededRandom", "WidgetCore", "WidgetExpression", "WidgetModel", "WidgetTimeZones",
      ]),
    .testTarget(
      name: "WidgetLayoutTests",
      dependencies: ["NodeSamples", "SeededRandom", "WidgetLayout", "WidgetModel"]),
    .testTarget(
      name: "WidgetRenderTests",
      dependencies: ["NodeSamples", "SeededRandom", "WidgetRender", "WidgetLayout", "WidgetModel"],
      exclude: ["Golden"]),
    .testTarget(
      name: "WidgetDrawingTests",
      dependencies: [
        "NodeSamples", "SeededRandom", "WidgetCairo", "WidgetDrawing", "WidgetLayout",
        "WidgetModel",
        "WidgetRender",
      ],
      exclude: ["Golden"]),
    .testTarget(
      name: "WidgetBarTests", dependencies: ["WidgetBar", "WidgetLayout", "WidgetModel"]),
    .testTarget(
      name: "WidgetTerminalTests",
      dependencies: ["SeededRandom", "WidgetProcess", "WidgetTerminal", "WidgetRender"]),
    .testTarget(
      name: "WidgetProtoTests",
      dependencies: ["MessageTypes", "SeededRandom", "WidgetProto", "WidgetModel", "CWidgetProto"],
      exclude: ["Python"]),
    .testTarget(
      name: "FuzzTests",
      dependencies: fuzzed + ["SeededRandom", .target(name: "WidgetGRPC", condition: withGRPC)],
      path: "Tests/Fuzz", exclude: ["Corpus"]),
    .testTarget(
      name: "WidgetTransportTests",
      dependencies: ["SeededRandom", "WidgetTransport", nioCore, nioEmbedded]),
    .testTarget(
      name: "WidgetTimeZonesTests", dependencies: ["WidgetTimeZones", "WidgetExpression"]),
    .testTarget(
      name: "WidgetStorageTests",
      dependencies: ["SeededRandom", "WidgetStorage", "WidgetCore", "WidgetModel"]),
    .testTarget(
      name: "WidgetSystemdTests",
      dependencies: ["WidgetServer", "WidgetSystemd", "widgetd", arguments, logging]),
    .testTarget(
      name: "WidgetServerTests",
      dependencies: [
        "SeededRandom", "TestThreads", "WidgetServer", "WidgetStorage", "WidgetCore", "WidgetModel",
        "WidgetProto", "WidgetTimers", "WidgetTransport", "WidgetClient", nioCore, nioPosix,
        nioEmbedded, logging,
      ],
      exclude: ["Go"]),
    .testTarget(
      name: "WidgetGRPCTests",
      dependencies: [
        .target(name: "WidgetGRPC", condition: withGRPC), "TestThreads", "WidgetServer",
        "WidgetStorage", "WidgetCore", "WidgetModel", "WidgetProto", "WidgetClient",
        "WidgetTransport", nioCore, nioPosix, nioEmbedded, logging,
      ] + grpc),
    .testTarget(
      name: "WidgetClientTests",
      dependencies: ["SeededRandom", "WidgetClient", "WidgetModel", "WidgetProto"]),
    .testTarget(
      name: "WidgetProviderTests",
      dependencies: [
        "WidgetProvider", "WidgetClient", "WidgetCore", "WidgetModel", "WidgetServer",
        "WidgetStorage", logging,
      ]),
    .testTarget(
      name: "WidgetHostTests",
      dependencies: [
        "CSystemd", "WidgetHost", "WidgetBundle", "WidgetClient", "WidgetExpression", "WidgetModel",
        nioCore, nioPosix, .product(name: "NIOHTTP1", package: nio),
      ]),
    .testTarget(
      name: "WidgetctlTests",
      dependencies: [
        "SeededRandom", "widgetctl", "WidgetBar", "WidgetBundle", "WidgetClient", "WidgetDrawing",
        "WidgetExpression", "WidgetLayout", "WidgetModel",
        "WidgetProto", "WidgetRender", "WidgetTerminal",
      ],
      exclude: ["Golden"]),
  ]
)

// The fuzz targets, for scripts/fuzz alone: it builds them with libFuzzer, in a folder of their own. The package
// then has only the modules and dependencies that they need, and only its modules are instrumented. Of WidgetGRPC
// they have what needs no gRPC.
if Context.environment["WIDGETD_FUZZ"] != nil {
  for target in package.targets where target.name == "WidgetGRPC" {
    target.dependencies = [nioCore]
    target.sources = [
      "ControlFrameScanner.swift", "FloodLimits.swift", "FrameCutter.swift", "MessageScanner.swift",
    ]
  }
  package.targets.append(.target(name: "FuzzMain", path: "Tests/Support/FuzzMain"))
  let fuzzer = Target.executableTarget(
    name: "widgetd-fuzz", dependencies: fuzzed + ["FuzzMain", "WidgetGRPC"],
    path: "Tests/Fuzz", exclude: ["Corpus", "CorpusTests.swift", "Mutation.swift"],
    linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address"])])
  var needed = [fuzzer]
  var index = 0
  while index < needed.count {
    for case .byNameItem(let name, _) in needed[index].dependencies
    where !needed.contains(where: { $0.name == name }) {
      needed += package.targets.filter { $0.name == name }
    }
    index += 1
  }
  for target in needed where target.type != .system {
    target.swiftSettings =
      (target.swiftSettings ?? [])
      + [.unsafeFlags(["-sanitize=fuzzer,address", "-enforce-exclusivity=checked"])]
    target.cSettings =
      (target.cSettings ?? []) + [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])]
  }
  package.targets = needed
  package.products = []
  package.dependencies.removeAll {
    guard case .sourceControl(_, let location, _) = $0.kind else { return true }
    return !location.hasSuffix("/swift-nio") && !location.hasSuffix("/swift-collections")
  }
}

// C targets ignore them.
for target in package.targets where target.type != .system {
  target.swiftSettings = (target.swiftSettings ?? []) + strict
}
