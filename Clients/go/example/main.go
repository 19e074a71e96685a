// Command example gets a widget, or sends an event to one.
//
//	example get ID
//	example send ID EVENT [KEY=VALUE...]
//
// It prints the widget's data, or the event's number. Exit status: 0 for success, 1 if the daemon
// refuses the call or cannot be reached, 2 for wrong arguments. The socket is $WIDGETD_SOCKET, else
// one of the usual sockets.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	"widgetd"
	pb "widgetd/v1"
)

const usage = `usage: example get ID
       example send ID EVENT [KEY=VALUE...]`

func main() {
	if len(os.Args) < 3 {
		misused()
	}
	client := widgetd.New("")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	switch {
	case os.Args[1] == "get" && len(os.Args) == 3:
		widget, err := client.Get(ctx, os.Args[2])
		stopOn(err)
		show(widget)
	case os.Args[1] == "send" && len(os.Args) >= 4:
		sequence, err := client.Send(ctx, os.Args[2], os.Args[3], payload(os.Args[4:]), "")
		stopOn(err)
		fmt.Println("event", sequence)
	default:
		misused()
	}
}

func misused() {
	fmt.Fprintln(os.Stderr, usage)
	os.Exit(2)
}

func stopOn(err error) {
	if err == nil {
		return
	}
	if reason := widgetd.Reason(err); reason != "" {
		fmt.Fprintf(os.Stderr, "example: %s (%s)\n", status.Convert(err).Message(), reason)
	} else {
		fmt.Fprintf(os.Stderr, "example: %s\n", status.Convert(err).Message())
	}
	os.Exit(1)
}

// payload reads KEY=VALUE. Numbers, true and false keep their types; every other value is text.
func payload(words []string) map[string]*pb.Value {
	values := map[string]*pb.Value{}
	for _, word := range words {
		parts := strings.SplitN(word, "=", 2)
		if len(parts) != 2 || parts[0] == "" {
			fmt.Fprintf(os.Stderr, "example: %q is not KEY=VALUE\n", word)
			os.Exit(2)
		}
		var from interface{} = parts[1]
		if n, err := strconv.ParseInt(parts[1], 10, 64); err == nil {
			from = n
		} else if f, err := strconv.ParseFloat(parts[1], 64); err == nil {
			from = f
		} else if parts[1] == "true" || parts[1] == "false" {
			from = parts[1] == "true"
		}
		value, err := widgetd.Value(from)
		stopOn(err)
		values[parts[0]] = value
	}
	return values
}

func show(widget *pb.Widget) {
	fmt.Printf("%s  %s  %s\n", widget.Id, widget.Kind,
		strings.ToLower(strings.TrimPrefix(widget.Presence.GetState().String(), "PRESENCE_STATE_")))
	keys := make([]string, 0, len(widget.Data))
	for key := range widget.Data {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		fmt.Printf("  %s = %s\n", key, text(widget.Data[key]))
	}
}

// text formats a value for people: text in quotes, numbers as they are, other values as protobuf
// prints them.
func text(value *pb.Value) string {
	switch kind := value.GetKind().(type) {
	case *pb.Value_BoolValue:
		return strconv.FormatBool(kind.BoolValue)
	case *pb.Value_IntValue:
		return strconv.FormatInt(kind.IntValue, 10)
	case *pb.Value_DoubleValue:
		return strconv.FormatFloat(kind.DoubleValue, 'g', -1, 64)
	case *pb.Value_StringValue:
		return strconv.Quote(kind.StringValue)
	case nil, *pb.Value_NullValue:
		return "null"
	}
	return value.String()
}
