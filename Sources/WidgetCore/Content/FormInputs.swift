import WidgetModel

/// The inputs and toggles in a kind's forms, read from its templates.
///
/// The store checks a submission before its reducer runs. The rules are `FormField`'s, as for the
/// forms of bundles.
struct FormInputs {
  private struct Form {
    var fields: [FormField] = []
    /// Whether the names of all inputs are known. Rows can repeat an input, and an expression can
    /// compute its name.
    var isComplete = true
  }

  /// The forms by their ids. Templates of several families may share a form id: a submission is
  /// valid if one of them accepts it.
  private var forms: [String: [Form]] = [:]

  /// The most values without a field that one refusal names.
  private static let othersMax = 16

  init(_ kind: Kind) {
    for template in kind.content { find(in: template.root) }
  }

  private mutating func find(in node: NodeTemplate) {
    if node.type.role == .form {
      var form = Form()
      for child in node.children { FormInputs.collect(child, &form) }
      forms[node.id, default: []].append(form)
    }
    for child in node.children { find(in: child) }
  }

  /// Collects the inputs outside rows. A row may repeat an input any number of times.
  private static func collect(_ node: NodeTemplate, _ form: inout Form) {
    // Clients may submit the inputs of a form inside, or of an embedded widget, too.
    guard node.rows == nil, node.type.role != .form, node.type != .embed else {
      form.isComplete = false
      return
    }
    if node.type.role.hasFormValue,
      node.properties["name"].map({ !$0.expression.isEmpty }) == true
    {
      form.isComplete = false
    }
    if let field = FormField(node) { form.fields.append(field) }
    for child in node.children { collect(child, &form) }
  }

  /// The values of a submission, with one for each field; nil if the node is no form.
  ///
  /// - Parameter shown: The properties of a shown node, by its id.
  func completed(
    _ payload: ValueMap, of node: String, shown: (String) -> ValueMap?
  ) throws(StoreError) -> ValueMap? {
    guard let versions = forms.first(where: { NodeID.isNode(node, of: $0.key) })?.value else {
      return nil
    }
    var values: ValueMap = [:]
    if case .map(let map)? = payload["values"] { values = map }
    var fewest: [FormField.Problem]?
    for form in versions {
      let problems = FormField.problems(
        of: values, for: form.fields, in: node,
        othersMax: form.isComplete ? FormInputs.othersMax : 0, shown: shown)
      if problems.isEmpty { return FormField.completed(values, for: form.fields) }
      if fewest.map({ problems.count < $0.count }) ?? true { fewest = problems }
    }
    throw .invalidForm(fewest ?? [])
  }
}
