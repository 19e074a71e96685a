import WidgetBundle
import WidgetExpression
import WidgetModel

// The processing of a source's result.
extension BundleInstance {
  mutating func sourceRead(_ id: WidgetID, _ index: Int, _ bytes: [UInt8]) {
    sources.ended(id, index)
    deliver(id, index, bytes)
    readAgainIfWanted(id, index)
  }

  mutating func sourceAnswered(_ id: WidgetID, _ index: Int, _ answer: WebAnswer) {
    let asked = readingTime(id, index)
    sources.ended(id, index)
    guard let source = source(id, index) else { return }
    switch answer.status {
    case 304 where isAnswerOutdated(id, index, source):
      trace(id, .source, source.name, "nothing new (304), but the widget has changed meanwhile")
      sources.forgetAnswer(id, index)
      sources.wantAgain(id, index)
    case 304:
      if let failure = failure(ofUnchanged: answer, id, index) {
        sourceFailed(id, index, failure, asked: asked)
        break
      }
      trace(id, .source, source.name, "nothing new (304)")
      succeeded(id, index, source, state(id, index).message)
    case 200..<300:
      do throws(Failure) {
        let hasNoContent = answer.status == 204 || answer.status == 205
        let result = try ResultParsing.value(
          of: answer, as: source.parse,
          mayBeBlank: hasNoContent || !source.assignments.readsResult)
        let read = readValues(id, source)
        deliver(
          id, index, result,
          blank: ResultParsing.blankWords(result, of: answer.body, from: answer.contentWords))
        if standing[id, .source(index)] == nil {
          sources.remember(
            id, index, answer, AnswerBasis(read: read, set: setValues(id, source)))
        }
      } catch {
        sourceFailed(id, index, error)
      }
    default:
      sourceFailed(id, index, Failure(answer, source.parse), asked: asked)
    }
    readAgainIfWanted(id, index)
  }

  /// Parses the bytes, and sets the data.
  mutating func deliver(_ id: WidgetID, _ index: Int, _ bytes: [UInt8]) {
    guard let source = source(id, index) else { return }
    do throws(Failure) {
      var path: String?
      var input = "the answer"
      switch source.input {
      case .file:
        path = state(id, index).watch?.path ?? ""
        input = state(id, index).watch?.path ?? "the file"
      case .command(let command, _): input = command.outputWords
      case .socket: input = state(id, index).missingPath ?? "the socket"
      case .folder, .http, .bus, .timer, .constant: break
      }
      let result = try ResultParsing.value(
        of: bytes, as: source.parse, hint: path ?? "", mayBeBlank: path == nil, from: input)
      deliver(
        id, index, result, blank: ResultParsing.blankWords(result, of: bytes, from: input))
    } catch {
      resultFailed(id, index, error)
    }
  }

  /// The bundle could not process a result.
  private mutating func resultFailed(_ id: WidgetID, _ index: Int, _ failure: Failure) {
    sources.set(id, index, hasWrongResult: true)
    sourceFailed(id, index, failure)
  }

  /// A single reading has given a value.
  mutating func sourceGave(_ id: WidgetID, _ index: Int, _ value: Value) {
    sources.ended(id, index)
    deliver(id, index, value)
    readAgainIfWanted(id, index)
  }

  /// - Parameter blank: the words for the input if it was empty; nil if it was not.
  mutating func deliver(
    _ id: WidgetID, _ index: Int, _ result: Value, blank: String? = nil
  ) {
    guard let source = source(id, index) else { return }
    do throws(Failure) {
      trace(id, .source, source.name, "result: \(BundleInstance.shape(result))")
      guard try holds(source.filter, try moment(id, result: result)) else {
        trace(id, .source, source.name, "is ignored: `filter` is false")
        // The result shows that a connection is back. It does not replace a wrong result.
        if !state(id, index).hasWrongResult { quietIsOver(id, index) }
        return
      }
      tellLife(.ready, of: source.name, id)
      let values = try values(source.assignments, try moment(id, result: result))
      trace(id, set: values, by: source.name)
      set(id, values)
      var message = ""
      if let template = source.successMessage {
        message = try text(template, try moment(id, result: result))
      }
      succeeded(id, index, source, message)
    } catch {
      resultFailed(id, index, error.with(blank))
    }
  }

  mutating func succeeded(
    _ id: WidgetID, _ index: Int, _ source: Source, _ message: String
  ) {
    if showUnwatched(id, index, source, message) { return }
    setStatus(id, source.name, ActionStatus(state: .success, message: message))
    timers.cancel(.quiet(id, index))
    sources.succeeded(id, index, message: message)
    succeeded(id, .source(index))
  }

  /// The bundle's title for a failure of a source.
  mutating func title(of source: Source, _ id: WidgetID) -> String? {
    guard let template = source.errorTitle, let moment = try? moment(id) else { return nil }
    return try? text(template, moment)
  }

  /// - Parameter asked: the time that the input took to fail; nil if it was not asked, or if it gave
  ///   a result.
  mutating func sourceFailed(
    _ id: WidgetID, _ index: Int, _ failure: Failure, asked: Duration? = nil
  ) {
    guard let source = source(id, index), let facts = facts(of: id) else { return }
    timers.cancel(.quiet(id, index))
    if source.isMissing(failure) { return sourceMissing(id, index, source, failure, asked) }
    trace(id, .source, source.name, "fails: \(failure)")
    var message = failure.message
    // The end of the failure can stay unnoticed, too.
    if let watch = unwatched(id, index, source) { message += "; \(watch.message)" }
    var status = ActionStatus(
      state: .failure, title: title(of: source, id) ?? facts.failureTitle(source.name),
      message: message, code: failure.code)
    status.answered = failure.answered
    setFailure(
      id, source.name, status, cause: state(id, index).isDemanded ? .request : .time)
    sources.failed(id, index)
    switch source.input {
    case .file where failure.code == "NOT_FOUND", .folder where failure.code == "NOT_FOUND":
      clearData(of: source, id, index, facts)
    default: break
    }
    widgets.touch(id)
    retry(id, index, source, after: failure, asked: asked)
  }

  /// Handles a missing input of an optional source. A missing input is a state, not a failure.
  private mutating func sourceMissing(
    _ id: WidgetID, _ index: Int, _ source: Source, _ failure: Failure, _ asked: Duration?
  ) {
    guard let facts = facts(of: id) else { return }
    trace(id, .source, source.name, "is missing: \(failure.message)")
    if unwatched(id, index, source) != nil {
      clearData(of: source, id, index, facts)
      _ = showUnwatched(id, index, source, "", isMissing: true)
      return retry(id, index, source, after: failure, asked: asked)
    }
    setStatus(
      id, source.name,
      ActionStatus(state: .missing, message: failure.message, code: failure.code))
    clearData(of: source, id, index, facts)
    sources.missed(id, index)
    widgets.touch(id)
    forgetFailure(id, .source(index), because: "is missing, and it is optional")
    // The watch of the folder reports a new socket, so the source finds a started program at once.
    if case .socket = source.input, let path = state(id, index).missingPath {
      watch(id, index, path)
    }
    retry(id, index, source, after: failure, asked: asked)
  }

  /// If an input disappears, the data of its source is no longer valid, so the keys get their
  /// defaults. A key keeps the value that another source has set. A bundle can have several sources
  /// for one value, and usually only one of them exists on a machine.
  private mutating func clearData(
    of source: Source, _ id: WidgetID, _ index: Int, _ facts: KindFacts
  ) {
    guard sources.becameAbsent(id, index) else { return }
    let others = facts.kind.sources.indices.filter { state(id, $0).input == .present }
    let kept = Set(
      others.flatMap { facts.kind.sources[$0].assignments.values.map { key, _ in key } })
    for (key, _) in source.assignments.values where !kept.contains(key) {
      widgets.set(id, key, facts.types[key]?.defaultValue ?? .null)
    }
  }
}

extension Source {
  /// Whether a failure means only that the input of this optional source does not exist. A socket
  /// without a listener, or whose program ended the connection, counts as well.
  fileprivate func isMissing(_ failure: Failure) -> Bool {
    guard isOptional else { return false }
    switch input {
    case .socket: return ["NOT_FOUND", "UNAVAILABLE"].contains(failure.code)
    case .file, .folder, .command, .bus: return failure.code == "NOT_FOUND"
    case .http, .timer, .constant: return false
    }
  }
}

extension Assignments {
  /// Whether one of the values depends on the result.
  var readsResult: Bool {
    values.contains { $0.value.readsResult }
  }
}

extension Expression {
  /// Whether the value depends on the result.
  var readsResult: Bool { compiled.references.contains { $0.variable == "result" } }
}

extension ProgramCommand {
  /// The output, for people. An expression can put a value of a user in the place of the name.
  var outputWords: String {
    guard case .constant(.string(let program))? = arguments.first else { return "the output" }
    return "the output of \(Paths.lastComponent(program))"
  }
}
