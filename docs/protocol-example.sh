#!/bin/sh
# Prints the frames of the worked example in PROTOCOL.md, in hex, one line each.
#
# Run it in the root of the repository. Needs protoc (apt: protobuf-compiler), xxd and python3.
set -eu

# encode TYPE FILE: text on stdin, bytes on stdout.
encode() { protoc -I Protos --encode="$1" "$2"; }
service() { encode "widgetd.v1.$1" widgetd/v1/widget_service.proto; }
# Bytes on stdin as the inside of a text format string.
escaped() { xxd -p | tr -d '\n' | sed 's/../\\x&/g'; }

# request METHOD, response: a message's bytes on stdin, the envelope's bytes on stdout.
request() {
  printf 'service: "widgetd.v1.WidgetService" method: "%s" payload: "%s"' "$1" "$(escaped)" |
    encode ttrpc.v1.Request ttrpc/v1/ttrpc.proto
}
response() {
  printf 'payload: "%s"' "$(escaped)" | encode ttrpc.v1.Response ttrpc/v1/ttrpc.proto
}

# frame NAME TYPE FLAGS STREAM: data on stdin, one line of hex on stdout.
frame() {
  printf '%s ' "$1"
  python3 -c '
import struct, sys
kind, flags, stream = map(int, sys.argv[1:])
data = sys.stdin.buffer.read()
header = struct.pack(">IIBB", len(data), stream, kind, flags)
print((header + data).hex())' "$2" "$3" "$4"
}

# What differs from daemon to daemon, fixed here: the epoch is 0x0102030405060708, and the resume
# token is 24 bytes that only the daemon reads.
epoch=72623859790382856
token() { printf '\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08\\xc8\\x96\\x93\\xe1\\x2a\\x9e\\x76\\x24\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x%02x' "$1"; }

# Connection A watches.
echo 'read_mask { paths: "data" paths: "update_time" }' |
  service WatchWidgetsRequest | request WatchWidgets | frame A1 1 1 1
echo "opened { subscription_id: 1 epoch: $epoch revision: 1 }" |
  service WatchWidgetsResponse | frame A2 3 0 1
echo 'snapshot { widgets {
        id: "clock" kind: "clock"
        data { key: "text" value { string_value: "12:00" } }
        created_revision: 1 revision: 1
        update_time { seconds: 1767225600 }
      } }' |
  service WatchWidgetsResponse | frame A3 3 0 1
echo "synced { revision: 1 resume_token: \"$(token 1)\" }" |
  service WatchWidgetsResponse | frame A4 3 0 1

# Connection B changes the text.
echo 'id: "clock" omit_widget: true
      patch { set_data { key: "text" value { string_value: "12:01" } } }' |
  service UpdateWidgetRequest | request UpdateWidget | frame B1 1 0 1
echo 'revision: 2 changed: true' | service UpdateWidgetResponse | response | frame B2 2 0 1

# A is told.
echo "changes {
        from_revision: 1 to_revision: 2
        changes { updated {
          id: \"clock\" revision: 2 update_time_nanos: 1767225660000000000
          set_data { key: \"text\" value { string_value: \"12:01\" } }
        } }
        resume_token: \"$(token 2)\"
      }" |
  service WatchWidgetsResponse | frame A5 3 0 1

# B asks for a widget that is not there.
echo 'id: "nope"' | service GetWidgetRequest | request GetWidget | frame B3 1 0 3
info=$(echo 'reason: "WIDGET_NOT_FOUND" domain: "widgetd"
             metadata { key: "widget_id" value: "nope" }' |
  encode google.rpc.ErrorInfo google/rpc/error_details.proto | escaped)
printf 'status {
  code: 5
  message: "There is no widget \\"nope\\". `widgetctl ls` lists all widgets."
  details { type_url: "type.googleapis.com/google.rpc.ErrorInfo" value: "%s" }
}' "$info" | encode ttrpc.v1.Response ttrpc/v1/ttrpc.proto | frame B4 2 0 3

# B ends the stream of A.
echo 'subscription_id: 1' | service UnsubscribeRequest | request Unsubscribe | frame B5 1 0 5
printf '' | service UnsubscribeResponse | response | frame B6 2 0 5
printf '' | frame A6 3 5 1
