// Command interop calls a widgetd with containerd's Go client of ttrpc, and checks every answer.
//
// It is given the socket's path, prints one line for each thing that it checked, and exits with 1
// and a line that begins with "FAIL" at the first one that is not as it should be.
//
// The client is version 1.1, as Debian 12 has it. It knows unary calls only: streams came with 1.2.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/containerd/ttrpc"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pb "widgetd/v1"
)

const service = "widgetd.v1.WidgetService"

func fail(format string, arguments ...interface{}) {
	fmt.Printf("FAIL "+format+"\n", arguments...)
	os.Exit(1)
}

func check(what string, isSo bool, seen interface{}) {
	if !isSo {
		fail("%s: got %v", what, seen)
	}
	fmt.Println("ok", what)
}

// expect checks that an error has a code and, if there is one, an ErrorInfo with a reason.
func expect(what string, err error, code codes.Code, reason string) *status.Status {
	s, _ := status.FromError(err)
	check(what+" has its code", err != nil && s.Code() == code, err)
	for _, detail := range s.Details() {
		if info, isInfo := detail.(*errdetails.ErrorInfo); isInfo {
			check(what+" has its reason", info.Reason == reason && info.Domain == "widgetd", info)
			return s
		}
	}
	fail("%s carries no ErrorInfo: %v", what, s.Details())
	return nil
}

func integer(n int64) *pb.Value {
	return &pb.Value{Kind: &pb.Value_IntValue{IntValue: n}}
}

func main() {
	connection, err := net.Dial("unix", os.Args[1])
	if err != nil {
		fail("dial: %v", err)
	}
	client := ttrpc.NewClient(connection)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ctx = ttrpc.WithMetadata(ctx, ttrpc.MD{"traceparent": {"00-abc-def-01"}, "k": {"v", "w"}})

	created := &pb.CreateWidgetResponse{}
	create := &pb.CreateWidgetRequest{
		Widget: &pb.WidgetSpec{
			Id: "go/clock", Kind: "clock", Family: pb.Family_FAMILY_SMALL,
			Labels: map[string]string{"room": "hall"},
			Data:   map[string]*pb.Value{"n": integer(1)},
		},
	}
	err = client.Call(ctx, service, "CreateWidget", create, created)
	check("CreateWidget succeeds", err == nil, err)
	check("CreateWidget returns the widget",
		created.Widget.GetId() == "go/clock" && created.Widget.GetPresence().GetVisible(),
		created)

	err = client.Call(ctx, service, "CreateWidget", create, &pb.CreateWidgetResponse{})
	expect("a second CreateWidget", err, codes.AlreadyExists, "WIDGET_EXISTS")

	read := &pb.GetWidgetResponse{}
	err = client.Call(ctx, service, "GetWidget", &pb.GetWidgetRequest{Id: "go/clock"}, read)
	check("GetWidget succeeds", err == nil, err)
	check("GetWidget returns what was created",
		read.Widget.GetLabels()["room"] == "hall" &&
			read.Widget.GetData()["n"].GetIntValue() == 1 &&
			read.Widget.GetFamily() == pb.Family_FAMILY_SMALL &&
			read.Widget.GetEtag() == created.Widget.GetEtag(), read)

	updated := &pb.UpdateWidgetResponse{}
	update := &pb.UpdateWidgetRequest{
		Id: "go/clock", Etag: read.Widget.GetEtag(),
		Patch: &pb.WidgetPatch{SetData: map[string]*pb.Value{"n": integer(2)}},
	}
	err = client.Call(ctx, service, "UpdateWidget", update, updated)
	check("UpdateWidget succeeds", err == nil && updated.Changed, err)
	check("UpdateWidget returns the widget", updated.Widget.GetData()["n"].GetIntValue() == 2, updated)
	err = client.Call(ctx, service, "UpdateWidget", update, &pb.UpdateWidgetResponse{})
	expect("UpdateWidget with an old etag", err, codes.Aborted, "ETAG_MISMATCH")

	sent := &pb.SendEventResponse{}
	err = client.Call(ctx, service, "SendEvent", &pb.SendEventRequest{
		WidgetId: "go/clock", Name: "click", Client: "go"}, sent)
	check("SendEvent succeeds", err == nil && sent.Sequence == 1, err)

	err = client.Call(ctx, service, "NoSuchMethod", &pb.GetWidgetRequest{}, &pb.GetWidgetResponse{})
	expect("an unknown method", err, codes.Unimplemented, "METHOD_UNKNOWN")
	err = client.Call(ctx, "no.such.Service", "GetWidget", &pb.GetWidgetRequest{},
		&pb.GetWidgetResponse{})
	expect("an unknown service", err, codes.Unimplemented, "METHOD_UNKNOWN")
	err = client.Call(ctx, service, "GetWidget", &pb.GetWidgetRequest{Id: "not an id"},
		&pb.GetWidgetResponse{})
	expect("a bad id", err, codes.InvalidArgument, "INVALID_REQUEST")

	// Many calls at once on one connection; their answers come in any order.
	results := make(chan error)
	for index := 0; index < 64; index++ {
		go func() {
			answer := &pb.GetWidgetResponse{}
			err := client.Call(ctx, service, "GetWidget", &pb.GetWidgetRequest{Id: "go/clock"}, answer)
			if err == nil && answer.Widget.GetData()["n"].GetIntValue() != 2 {
				err = fmt.Errorf("unexpected %v", answer)
			}
			results <- err
		}()
	}
	for index := 0; index < 64; index++ {
		if err := <-results; err != nil {
			fail("concurrent calls: %v", err)
		}
	}
	fmt.Println("ok concurrent calls")
}
