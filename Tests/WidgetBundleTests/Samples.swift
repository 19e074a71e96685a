import WidgetBundle
import WidgetExpression
import WidgetModel

/// Bundles that tests read.
enum Samples {
  /// Uses every part of the format.
  static let full = #"""
    # A remark.
    bundle: todo
    format: 1
    version: 1.0.0
    name: To-do
    description: What is to be done.
    permissions:
      read: [/proc/loadavg, "${home}/notes"]
      hosts: [api.example.org, "127.0.0.1:8080", "*.example.net"]
      commands: [df, /usr/bin/systemctl]
    kinds:
      todo:
        displayName: To-do
        description: A list.
        families: [small, medium, large, inline]
        persistence: volatile
        transition: spring:400ms
        parameters:
          zone: {type: string, default: UTC, description: A time zone.}
          step: 1
        data:
          items: {type: "list(map(string, dyn))", default: []}
          query: ""
          one: 0.0
          load: []
          count: 0
          full: false
          seen: {type: timestamp, default: "2026-01-02T03:04:05Z"}
          pause: {type: duration, default: 90s}
        content:
          "small, medium, large":
            stack:
              - Load
              - label: {value: '=string(data.one)', placeholder: "--"}
                font: title
              - label:
                  from: data.count
                  if: value > 3
                  then: many
                  else: '=string(value)'
                  format: "%@ of 100%%"
                  placeholder: none
                id: total
              - button: More
                id: more
                on: {press: {set: {count: data.count + parameters.step}}}
              - button: Reset
                on: {press: [{unset: count}, {set: {full: "false"}}]}
              - toggle: Full
                value: =data.full
                on:
                  change: {set: {full: event.payload.value}}
              - input: query
                mode: search
                value: =data.query
                on:
                  change: {throttle: 500ms, minLength: 1, do: {set: {query: event.payload.value}}}
              - table:
                  - label: ="#" + string(itemIndex) + string(item.title)
                    rows: {list: data.items, key: item.id}
                    on: {press: remove}
                columns: [Title]
                if: size(data.items) > 0
              - spinner: Saving
                if: status.save.running
              - form:
                  - {input: title, text: Title, required: true, minLength: 2, maxLength: 100}
                  - {input: note, problem: '="note" in status.save.fields ? status.save.fields.note : ""'}
                submit: Save
                on: {submit: save}
              - chart: [1, '=data.one', 2.5]
                style: bar
              - {date: =data.seen, style: relative}
              - {space: 4}
              - {label: "==escaped", padding: {top: 1, bottom: '=data.one'}, color: "#ff0000"}
          inline: {label: =string(data.count)}
        sources:
          load: {file: /proc/loadavg, every: 2s, parse: words, set: {one: 'double(result[0][0])'}}
          feed:
            http:
              url: http://127.0.0.1:8080/feed
              query: {q: =data.query, page: 2}
              headers: {Accept: application/json}
            every: 5m
            aligned: true
            when: "!data.full"
            parse: {format: json, shape: list, path: "data.items[0].list", errorPath: error.message}
            set: {items: result}
            stub: [{id: 1, title: stubbed}]
          units: {command: [/usr/bin/systemctl, list-units], every: 10s, timeout: 5s, lines: true}
          tick: {timer: 1m, aligned: true, set: {seen: result}}
          demo: {value: {a: [1, =data.count]}, start: false}
        actions:
          save:
            require: {if: "data.count >= 0", code: FAILED_PRECONDITION, message: =string(data.count)}
            if: size(event.payload.values.title) > 0
            else: {set: {query: '""'}}
            delay: 300ms
            optimistic: {count: data.count + 1}
            do:
              - http:
                  method: post
                  url: ="https://api.example.org/" + widget.id
                  path: [items, =event.row]
                  json: {title: =event.payload.values.title, n: 1, tags: [a, =data.query]}
                parse: json
                set: {count: int(result.count)}
              - {command: [df, -h], input: "x", parse: lines, set: {load: result}}
            then: [feed, {show: [other, self]}]
            catch: {set: {query: error.message}}
            title: Could not save
            message: ="Saved " + string(data.count)
          remove:
            do:
              - {run: tidy}
              - {emit: removed, payload: {row: =event.row}}
              - {emit: removed, widget: other}
              - {reload: [load, feed]}
              - {reload: all}
              - {cancel: save}
              - {hide: self}
              - if: data.full
                do: {toggle: other}
          tidy: {set: {query: '""'}}
        on:
          load: {reload: all}
          every: [{interval: 60s, do: feed}]
          click: {set: {count: data.count + 1}}
          mixed: [{set: {count: "0"}}, save]
    widgets:
      - {id: todo, kind: todo, parameters: {zone: Europe/Berlin}, family: small, labels: {panel: top}}
      - {id: other, kind: todo, visible: false, enabled: true, data: {count: 3}}
    """#

  static func read(_ text: String) throws -> Bundle { try BundleReader.read(text) }

  /// The mistakes of a text: `line:column: message; hint`.
  static func problems(_ text: String) -> [BundleProblem] {
    do throws(InvalidBundle) {
      _ = try BundleReader.read(text)
      return []
    } catch {
      return error.problems
    }
  }

  /// A bundle with one kind. Its body is this text, indented by four.
  static func kind(
    _ body: String, permissions: String = "{}",
    data: String = "    data: {n: 0, text: \"\", list: []}\n"
  ) -> String {
    """
    bundle: b
    format: 1
    version: 1.0.0
    permissions: \(permissions)
    kinds:
      k:

    """ + data
      + body.split(separator: "\n", omittingEmptySubsequences: false).map { "    \($0)\n" }.joined()
  }
}
