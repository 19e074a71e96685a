// Command conformance is the driver of the conformance suite for the Go client over ttrpc.
//
// It is started with the socket's path and speaks the protocol of Clients/conformance/README.md on
// its standard input and output. Debian's ttrpc has no streams, so it supports calls only. Messages
// are bytes to it: what the runner sends is what goes over the socket.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang/protobuf/proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"widgetd"
)

// message is any message, as the bytes it has on the wire.
type message struct{ bytes []byte }

func (m *message) Reset()                   { m.bytes = nil }
func (m *message) String() string           { return hex.EncodeToString(m.bytes) }
func (m *message) ProtoMessage()            {}
func (m *message) Marshal() ([]byte, error) { return m.bytes, nil }
func (m *message) Unmarshal(b []byte) error {
	m.bytes = append([]byte(nil), b...)
	return nil
}

var names = map[codes.Code]string{
	codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN",
	codes.InvalidArgument: "INVALID_ARGUMENT", codes.DeadlineExceeded: "DEADLINE_EXCEEDED",
	codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED",
	codes.OutOfRange: "OUT_OF_RANGE", codes.Unimplemented: "UNIMPLEMENTED",
	codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE", codes.DataLoss: "DATA_LOSS",
	codes.Unauthenticated: "UNAUTHENTICATED",
}

var output sync.Mutex

// say writes one event, whole and at once.
func say(format string, arguments ...interface{}) {
	output.Lock()
	defer output.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", arguments...)
}

func words(b []byte) string {
	if len(b) == 0 {
		return "-"
	}
	return hex.EncodeToString(b)
}

func fail(format string, arguments ...interface{}) {
	fmt.Fprintf(os.Stderr, "conformance: "+format+"\n", arguments...)
	os.Exit(2)
}

func main() {
	if len(os.Args) != 2 {
		fail("usage: conformance SOCKET_PATH")
	}
	client := widgetd.New(os.Args[1])
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			os.Exit(0) // The runner is gone.
		}
		command := strings.Split(string(bytes.TrimRight(line, "\n")), " ")
		switch {
		case command[0] == "supports":
			say("supports call timeout others")
		case command[0] == "call" && len(command) == 5:
			go call(client, command[1:])
		case command[0] == "quit":
			os.Exit(0)
		case len(command) > 1:
			say("unsupported %s Debian's ttrpc 1.1.1 for Go has unary calls only", command[1])
		default:
			fail("%q is not a command", command[0])
		}
	}
}

// call makes one call: ID METHOD TIMEOUT HEX.
func call(client *widgetd.Client, command []string) {
	id, method := command[0], strings.SplitN(command[1], "/", 2)
	timeout, err := strconv.Atoi(command[2])
	if err != nil || len(method) != 2 {
		fail("call %v is malformed", command[:3])
	}
	request := &message{}
	if command[3] != "-" {
		if request.bytes, err = hex.DecodeString(command[3]); err != nil {
			fail("call %s: %v", id, err)
		}
	}
	ctx := context.Background()
	if timeout != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(timeout)*time.Millisecond)
		defer cancel()
	}
	answer := &message{}
	err = client.Call(ctx, method[0], method[1], request, answer)
	if err == nil {
		say("answer %s ok %s", id, words(answer.bytes))
		return
	}
	s := status.Convert(err)
	details := []byte(nil)
	if len(s.Proto().GetDetails()) > 0 { // The daemon's errors have details, the client's own none.
		if details, err = proto.Marshal(s.Proto()); err != nil {
			fail("call %s: %v", id, err)
		}
	}
	say("answer %s error %s %s", id, names[s.Code()], words(details))
}
