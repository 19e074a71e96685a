#if GRPC
  import GRPCCore
  import NIOCore
  import WidgetProto
  import WidgetServer

  /// Describes the services and their messages to tools, from the descriptors of the .proto files
  /// that the daemon was built from.
  ///
  /// Older tools use the service's name before it was final; its messages are the same.
  ///
  /// Everyone may ask. So an answer is made only when there is room for it, as for a message of a
  /// stream. The guard of the call counts the questions.
  struct ReflectionService: RegistrableRPCService {
    let callers: Callers

    private static let names = [
      "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
    ]

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
      for name in ReflectionService.names {
        router.registerHandler(
          forMethod: MethodDescriptor(
            fullyQualifiedService: name, method: "ServerReflectionInfo",
            type: .bidirectionalStreaming),
          deserializer: MessageBytes(), serializer: MessageBytes()
        ) { request, context in
          let call = try callers.call(request.metadata)
          return StreamingServerResponse { writer in
            try await withRPCCancellationHandler {
              for try await message in request.messages {
                guard !context.cancellation.isCancelled,
                  let answer = try await ReflectionService.answer(message, of: call)
                else { throw RPCError(RPCStatus.deadlineExceeded) }
                try await writer.write(answer)
              }
            } onCancelRPC: {
              _ = call.client.onLoop { call.guarded.value.stopAnswering() }
            }
            return [:]
          }
        }
      }
    }

    /// The answer, when there is room for it. nil if the call is over.
    private static func answer(
      _ message: ByteBuffer, of call: Callers.CallerCall
    ) async throws -> ByteBuffer? {
      let answer: Result<ByteBuffer?, any Error> = await withCheckedContinuation { continuation in
        let isServing = call.client.onLoop {
          call.guarded.value.answer(message) { isOver in
            guard !isOver else {
              continuation.resume(returning: .success(nil))
              return 0
            }
            let made = Result<ByteBuffer?, any Error> { try ReflectionService.answer(message) }
            continuation.resume(returning: made)
            return (try? made.get())?.readableBytes ?? 0
          }
        }
        if !isServing { continuation.resume(returning: .success(nil)) }
      }
      return try answer.get()
    }

    private static func answer(_ message: ByteBuffer) throws -> ByteBuffer {
      let codec = WireCodec()
      do throws(WireError) {
        let question = try codec.decode(
          ReflectionRequest.self, from: Array(message.readableBytesView))
        let response = ReflectionResponse(
          question: question, answer: ReflectionIndex.shared.answer(question.question))
        return ByteBuffer(bytes: try codec.encode(response))
      } catch {
        throw RPCError(code: .invalidArgument, message: "\(error)")
      }
    }
  }

  /// The files of the services, to be looked up.
  struct ReflectionIndex: Sendable {
    static let shared = ReflectionIndex(
      files: ProtoFile.all,
      services: Array(Set(InProcessClient.methods.map(\.service)))
        + ["grpc.reflection.v1.ServerReflection"])

    private let files: [ProtoFile]
    private let services: [String]
    private let indexByName: [String: Int]
    private let indexBySymbol: [String: Int]

    init(files: [ProtoFile], services: [String]) {
      self.files = files
      self.services = services.sorted()
      indexByName = Dictionary(
        uniqueKeysWithValues: files.enumerated().map { ($0.element.name, $0.offset) })
      indexBySymbol = Dictionary(
        files.enumerated().flatMap { index, file in file.symbols.map { ($0, index) } },
        uniquingKeysWith: { first, _ in first })
    }

    func answer(_ question: ReflectionRequest.Question?) -> ReflectionResponse.Answer {
      switch question {
      case .listServices: .services(services)
      case .fileByName(let name): file(indexByName[name], "file \"\(name)\"")
      case .fileContainingSymbol(let symbol): file(index(of: symbol), "symbol \"\(symbol)\"")
      case .fileContainingExtension(let request):
        .error(.notFound, "\(request.containingType) has no extension \(request.number).")
      case .allExtensionNumbers(let type):
        // The messages are proto3, which has no extensions.
        index(of: type) == nil
          ? .error(.notFound, "There is no type \"\(type)\" here.")
          : .extensionNumbers(ofType: type, [])
      case nil: .error(.invalidArgument, "This service does not know the question in the request.")
      }
    }

    /// The file that declares a message, an enum, a service, or a member of one of them.
    private func index(of symbol: String) -> Int? {
      let name = symbol.hasPrefix(".") ? String(symbol.dropFirst()) : symbol
      if let index = indexBySymbol[name] { return index }
      guard let dot = name.lastIndex(of: ".") else { return nil }
      return indexBySymbol[String(name[..<dot])]
    }

    /// A file, and after it all that it imports: each once.
    private func file(_ index: Int?, _ what: String) -> ReflectionResponse.Answer {
      guard let index else { return .error(.notFound, "There is no \(what) here.") }
      var found = [index]
      var next = 0
      while next < found.count {
        for imported in files[found[next]].imports where !found.contains(imported) {
          found.append(imported)
        }
        next += 1
      }
      return .files(found.map { files[$0].descriptor })
    }
  }
#endif
