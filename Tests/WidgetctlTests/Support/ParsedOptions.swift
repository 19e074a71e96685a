import ArgumentParser

/// A command with options. Options cannot be parsed alone if the completion of a value asks the
/// daemon.
private struct CommandWithOptions<Options: ParsableArguments>: AsyncParsableCommand {
  @OptionGroup var options: Options
}

extension ParsableArguments {
  /// The options from the words of a command line.
  static func parsed(_ words: [String]) async throws -> Self {
    try await CommandWithOptions<Self>.asyncParse(words).options
  }
}
