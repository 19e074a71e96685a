// Package widgetd calls a widgetd over ttrpc, with the client library that Debian has.
//
// That library is version 1.1.1, which supports only unary calls. To watch, use another client (see
// the other folders of Clients/). All methods may be called from many goroutines at once. If the
// connection is lost, calls in progress fail with codes.Unavailable, and the next call reconnects.
// The package does not retry the failed calls, because the daemon may have carried them out.
package widgetd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/containerd/ttrpc"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "widgetd/v1"
)

// Service is the full name of the service that owns the widgets.
const Service = "widgetd.v1.WidgetService"

// CatalogService is the full name of the service that owns the kinds.
const CatalogService = "widgetd.v1.CatalogService"

// Client is a client of one daemon. Make it with New.
type Client struct {
	path string
	// The usual paths, if nobody named the socket.
	tried []string

	mutex sync.Mutex
	calls *ttrpc.Client
}

// New makes a client for the socket at path. The first call connects. If the path is empty, the
// client uses $WIDGETD_SOCKET, else the user's own daemon below $XDG_RUNTIME_DIR, else the system's.
func New(path string) *Client {
	if path == "" {
		path = os.Getenv("WIDGETD_SOCKET")
	}
	if path != "" {
		return &Client{path: strings.TrimPrefix(strings.TrimPrefix(path, "unix://"), "unix:")}
	}
	tried := usualPaths()
	for _, path := range tried {
		if _, err := os.Stat(path); err == nil {
			return &Client{path: path, tried: tried}
		}
	}
	return &Client{path: tried[len(tried)-1], tried: tried}
}

// usualPaths returns the places of the socket: the user's own daemon, then the system's.
func usualPaths() []string {
	system := "/run/widgetd/widgetd.sock"
	if folder := os.Getenv("XDG_RUNTIME_DIR"); folder != "" {
		return []string{folder + "/widgetd/widgetd.sock", system}
	}
	return []string{system}
}

// Close closes the connection, if there is one. The next call reconnects.
func (c *Client) Close() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.calls == nil {
		return nil
	}
	calls := c.calls
	c.calls = nil
	return calls.Close()
}

// connected returns the connection, or makes one.
func (c *Client) connected(ctx context.Context) (*ttrpc.Client, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.calls != nil {
		return c.calls, nil
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", c.path)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.cannotConnect(err)
	}
	// A connection that ends while it is idle must not fail the next call.
	var calls *ttrpc.Client
	calls = ttrpc.NewClient(connection, ttrpc.WithOnClose(func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.calls == calls {
			c.calls = nil
		}
	}))
	c.calls = calls
	return calls, nil
}

// Call makes a unary call of any service. It sends the context's deadline to the daemon, and
// respects it. The error is a status of google.golang.org/grpc/status. Reason returns its reason.
func (c *Client) Call(ctx context.Context, service, method string, request, answer interface{}) error {
	if err := ctx.Err(); err != nil {
		return c.statusOf(err)
	}
	calls, err := c.connected(ctx)
	if err != nil {
		return c.statusOf(err)
	}
	err = calls.Call(ctx, service, method, request, answer)
	if errors.Is(err, ttrpc.ErrClosed) {
		c.mutex.Lock()
		if c.calls == calls {
			c.calls = nil
		}
		c.mutex.Unlock()
		return status.Errorf(codes.Unavailable,
			"the connection to widgetd at %s was lost before it answered; "+
				"try again. If it was a change, it may have been made already; with a request id, it is made once", c.path)
	}
	return c.statusOf(err)
}

// cannotConnect returns the status for a failed connection: the socket, the reason and the next step.
func (c *Client) cannotConnect(err error) error {
	code, reason := codes.Unavailable, ""
	switch {
	case errors.Is(err, syscall.ENOENT) && len(c.tried) > 0:
		return status.Errorf(code, "cannot find the daemon's socket; tried %s. Start widgetd, or name "+
			"its socket in $WIDGETD_SOCKET", strings.Join(c.tried, ", "))
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR):
		reason = "there is no such socket; is widgetd running, and is this its socket?"
	case errors.Is(err, syscall.ECONNREFUSED):
		reason = "no program listens there: the daemon has ended, or this is not a socket; start widgetd"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		code = codes.PermissionDenied
		reason = "permission denied; run as the daemon's user, or join the group that its --client-group names"
	case errors.Is(err, syscall.EAGAIN):
		reason = "the daemon has too many connections waiting; try again"
	default:
		reason = err.Error() + "; check that this is widgetd's socket"
	}
	return status.Errorf(code, "cannot connect to the daemon at %s: %s", c.path, reason)
}

// statusOf converts an error that is not a status to a status. A daemon's status stays as it is.
func (c *Client) statusOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return status.Errorf(codes.DeadlineExceeded,
			"the daemon at %s did not answer in time; give the context a later deadline, or see "+
				"`widgetctl doctor`. If it was a change, it may still be made", c.path)
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, "the call was cancelled")
	}
	if _, is := status.FromError(err); is {
		return err
	}
	return status.Error(codes.Unavailable, err.Error())
}

// Reason returns the stable reason of a daemon's error, such as WIDGET_NOT_FOUND. It is empty for
// other errors.
func Reason(err error) string {
	s, is := status.FromError(err)
	if !is {
		return ""
	}
	for _, detail := range s.Details() {
		if info, is := detail.(*errdetails.ErrorInfo); is && info.Domain == "widgetd" {
			return info.Reason
		}
	}
	return ""
}

// Get returns one widget.
func (c *Client) Get(ctx context.Context, id string) (*pb.Widget, error) {
	answer := &pb.GetWidgetResponse{}
	err := c.Call(ctx, Service, "GetWidget", &pb.GetWidgetRequest{Id: id}, answer)
	if err != nil {
		return nil, err
	}
	return answer.Widget, nil
}

// Send sends an event to a widget and returns the event's sequence number. If requestID is unique to
// this event, you can retry a failed call safely.
func (c *Client) Send(
	ctx context.Context, id, name string, payload map[string]*pb.Value, requestID string,
) (uint64, error) {
	answer := &pb.SendEventResponse{}
	err := c.Call(ctx, Service, "SendEvent", &pb.SendEventRequest{
		WidgetId: id, Name: name, Payload: payload, Client: "go", RequestId: requestID}, answer)
	return answer.Sequence, err
}

// Value converts a Go value to a message: bool, int, int64, float64, string, []byte or nil.
func Value(from interface{}) (*pb.Value, error) {
	switch v := from.(type) {
	case nil:
		return &pb.Value{Kind: &pb.Value_NullValue{}}, nil
	case bool:
		return &pb.Value{Kind: &pb.Value_BoolValue{BoolValue: v}}, nil
	case int:
		return &pb.Value{Kind: &pb.Value_IntValue{IntValue: int64(v)}}, nil
	case int64:
		return &pb.Value{Kind: &pb.Value_IntValue{IntValue: v}}, nil
	case float64:
		return &pb.Value{Kind: &pb.Value_DoubleValue{DoubleValue: v}}, nil
	case string:
		return &pb.Value{Kind: &pb.Value_StringValue{StringValue: v}}, nil
	case []byte:
		return &pb.Value{Kind: &pb.Value_BytesValue{BytesValue: v}}, nil
	}
	return nil, fmt.Errorf("a value cannot be made of a %T", from)
}
