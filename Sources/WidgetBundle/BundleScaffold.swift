/// The files of a new bundle.
public enum BundleScaffold {
  /// A bundle that works: the machine's load, and a counter.
  public static func text(id: String) -> String {
    """
    # Checked by `widgetctl bundle validate`, explained in docs/bundles.md.
    bundle: \(id)
    format: 1
    version: 0.1.0
    name: \(id)
    description: The load of this machine, and a counter.

    # The files that the bundle may read. The host refuses everything else.
    permissions:
      read: [/proc/loadavg]

    kinds:
      \(id):
        displayName: \(id)
        description: Shows the load, and counts clicks.
        parameters:
          step: {type: int, default: 1, description: The number that a click adds.}
        data:
          load: {type: double, description: The load over the last minute; null while unknown.}
          clicks: 0
        sources:
          load:
            file: /proc/loadavg
            every: 2s
            parse: words
            set: {load: "double(result[0][0])"}
        content:
          inline:
            label: {from: data.load, format: "load %@", placeholder: "load --"}
          "*":
            stack:
              - label: \(id)
                font: title
              - gauge: {from: data.load, placeholder: 0}
                max: 4
                text: {from: data.load, then: '=formatNumber(value, 2)', placeholder: "--"}
              - label: '=string(data.clicks) + (data.clicks == 1 ? " click" : " clicks")'
              - button: Click
                id: click
                on: {press: {set: {clicks: data.clicks + parameters.step}}}

    widgets:
      - {id: \(id), kind: \(id)}

    """
  }
}
