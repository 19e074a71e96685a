// The loop of loadgen-grpc. The client is Debian's C++ gRPC library with generic stubs, one
// completion queue and one thread.
//
// Each channel is made from a socket of the program. So it is exactly one connection with a known
// peer, and the library does not resolve, balance or reconnect.
//
// The bytes of a connection are the bytes of its messages, without those of HTTP/2.

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

extern "C" {
#include "../loop.h"
#include "../measure.h"
#include "../messages.h"
}
#include "methods.h"

namespace {

const std::string methodNames[] = {
    "",
    "/widgetd.v1.WidgetService/CreateWidget",
    "/widgetd.v1.WidgetService/GetWidget",
    "/widgetd.v1.WidgetService/UpdateWidget",
    "/widgetd.v1.WidgetService/WatchWidgets",
};

/// The queue. It is never shut down, because the program ends after its report.
grpc::CompletionQueue &queue() {
  static auto *const one = new grpc::CompletionQueue;
  return *one;
}

/// A waiter for a tag of the queue. The tag is its address.
class Operation {
 public:
  virtual ~Operation() = default;
  /// The tag came out of the queue.
  virtual void done(struct loop *, bool ok, uint64_t now) = 0;
};

/// The state of a connection that the library needs.
struct Transport {
  ~Transport();
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
  unsigned calls = 0;      // under way
  bool abandoned = false;  // freed after its last call
  std::vector<class UnaryCall *> idle;
};

/// Hands `bytes` to `use` in one piece.
template <typename Use>
void withBytes(const grpc::ByteBuffer &bytes, Use use) {
  grpc::Slice slice;
  if (!bytes.Valid()) return use(nullptr, size_t(0));
  if (!bytes.TrySingleSlice(&slice).ok() && !bytes.DumpToSingleSlice(&slice).ok()) abort();
  use(slice.begin(), slice.size());
}

void release(Transport *transport) {
  if (--transport->calls == 0 && transport->abandoned) delete transport;
}

void failIfGone(const grpc::Status &status) {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE)
    fail("the server closed a connection: %s", status.error_message().c_str());
}

/// A call with one answer. The connection uses it again for the next call.
class UnaryCall final : public Operation {
 public:
  void start(struct connection *connection, unsigned method, uint64_t number,
             const grpc::ByteBuffer &request) {
    connection_ = connection;
    transport_ = static_cast<Transport *>(connection->transport);
    number_ = number;
    context_.emplace();
    reader_ =
        transport_->stub->PrepareUnaryCall(&*context_, methodNames[method], request, &queue());
    reader_->StartCall();
    reader_->Finish(&answer_, &status_, this);
    transport_->calls++;
  }

  void done(struct loop *loop, bool, uint64_t now) override {
    Transport *transport = transport_;
    if (!transport->abandoned) {
      struct message message = {};
      failIfGone(status_);
      message.kind = MESSAGE_REPLY;
      message.call = number_;
      message.failed = !status_.ok();
      if (message.failed)
        snprintf(message.text, sizeof message.text, "status %d: %s",
                 static_cast<int>(status_.error_code()), status_.error_message().c_str());
      withBytes(answer_, [&](const uint8_t *bytes, size_t count) {
        message.bytes = bytes;
        message.length = count;
        if (!message.failed) widget_read_answer(bytes, count, &message);
        if (message.kind == MESSAGE_BROKEN) fail("the server sent %s", message.text);
        connection_->bytes += count;
        connection_->messages++;
        loop->on_message(loop, connection_, &message, now);
      });
    }
    answer_.Clear();
    reader_.reset();
    context_.reset();
    if (transport->abandoned) {
      delete this;
    } else {
      transport->idle.push_back(this);
    }
    release(transport);
  }

 private:
  struct connection *connection_ = nullptr;
  Transport *transport_ = nullptr;
  uint64_t number_ = 0;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  grpc::ByteBuffer answer_;
  grpc::Status status_;
};

Transport::~Transport() {
  for (UnaryCall *call : idle) delete call;
}

/// A subscription: one request, then messages. The server must not end it.
class WatchCall final : public Operation {
 public:
  WatchCall(struct connection *connection, const grpc::ByteBuffer &request)
      : connection_(connection), transport_(static_cast<Transport *>(connection->transport)),
        request_(request) {
    transport_->calls++;
    stream_ = transport_->stub->PrepareCall(&context_, methodNames[methodWatch], &queue());
    stream_->StartCall(this);
  }

  void done(struct loop *loop, bool ok, uint64_t now) override {
    if (Transport *transport = transport_; transport->abandoned) {
      delete this;
      return release(transport);
    }
    switch (step_) {
      case Step::starting:
        if (!ok) return finish();
        step_ = Step::asking;
        return stream_->WriteLast(request_, grpc::WriteOptions(), this);
      case Step::asking:
        if (!ok) return finish();
        step_ = Step::reading;
        return stream_->Read(&frame_, this);
      case Step::reading:
        if (!ok) return finish();
        deliver(loop, now);
        return stream_->Read(&frame_, this);
      case Step::ending:
        fail("the server ended a stream: status %d: %s", static_cast<int>(status_.error_code()),
             status_.error_message().c_str());
    }
  }

 private:
  enum class Step { starting, asking, reading, ending };

  void deliver(struct loop *loop, uint64_t now) {
    withBytes(frame_, [&](const uint8_t *bytes, size_t count) {
      struct message message = {};
      message.bytes = bytes;
      message.length = count;
      widget_read_frame(bytes, count, &message);
      if (message.kind == MESSAGE_BROKEN) fail("the server sent %s", message.text);
      connection_->bytes += count;
      connection_->messages++;
      loop->on_message(loop, connection_, &message, now);
    });
  }

  void finish() {
    step_ = Step::ending;
    stream_->Finish(&status_, this);
  }

  Step step_ = Step::starting;
  struct connection *connection_;
  Transport *transport_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer request_, frame_;
  grpc::Status status_;
};

}  // namespace

void loop_init(struct loop *loop, const struct protocol *protocol, const char *socket_path) {
  *loop = {};
  loop->protocol = protocol;
  loop->socket_path = socket_path;
}

struct connection *loop_adopt(struct loop *, int fd) {
  auto *connection = static_cast<struct connection *>(calloc(1, sizeof(struct connection)));
  if (!connection) abort();
  if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0) fail("fcntl: %s", strerror(errno));
  grpc::ChannelArguments arguments;
  // A lost connection is an error. There is no retry.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  auto *transport = new Transport;
  transport->channel = grpc::CreateCustomInsecureChannelFromFd("localhost", fd, arguments);
  transport->stub = std::make_unique<grpc::GenericStub>(transport->channel);
  // The library owns the socket. The descriptor stays valid for questions about the peer.
  connection->fd = fd;
  connection->transport = transport;
  return connection;
}

void loop_disconnect(struct loop *, struct connection *connection) {
  auto *transport = static_cast<Transport *>(connection->transport);
  shutdown(connection->fd, SHUT_RDWR);
  transport->abandoned = true;
  if (transport->calls == 0) delete transport;
  buffer_free(&connection->in);
  buffer_free(&connection->out);
  free(connection);
}

void loop_stall(struct loop *, struct connection *) {
  fail("the gRPC library reads ahead of its caller: a stalled reader cannot be had with it");
}

void loop_flush(struct loop *, struct connection *connection) {
  struct buffer *out = &connection->out;
  auto *transport = static_cast<Transport *>(connection->transport);
  while (buffer_waiting(out) > 0) {
    const uint8_t *record = out->bytes + out->start;
    size_t count = read_u32be(record);
    uint64_t number = (read_u32be(record + 4) - 1) / 2;
    unsigned method = record[8];
    grpc::Slice slice(record + frameHeaderBytes, count);
    grpc::ByteBuffer request(&slice, 1);
    buffer_consume(out, frameHeaderBytes + count);
    if (method == methodWatch) {
      new WatchCall(connection, request);
    } else {
      UnaryCall *call;
      if (transport->idle.empty()) {
        call = new UnaryCall;
      } else {
        call = transport->idle.back();
        transport->idle.pop_back();
      }
      call->start(connection, method, number, request);
    }
  }
}

void loop_turn(struct loop *loop, uint64_t deadline_ns) {
  void *tag = nullptr;
  bool ok = false;
  gpr_timespec deadline = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  if (deadline_ns > 0) {
    uint64_t now = clock_now(), left = deadline_ns > now ? deadline_ns - now : 0;
    deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                            gpr_time_from_nanos(static_cast<int64_t>(left), GPR_TIMESPAN));
  }
  if (queue().AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::GOT_EVENT)
    static_cast<Operation *>(tag)->done(loop, ok, clock_now());
}
