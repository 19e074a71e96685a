// grpc-c++: a counterpart of widgetd, a small server on Debian's C++ gRPC library. It speaks
// widgetd.v1 with code generated from Protos/, and keeps widgets in memory. It has no quotas,
// permissions, read masks, selectors, resumption or conflation.
//
// It is as fast as the library allows on one CPU:
//   - The asynchronous API has one completion queue and one thread. So there are no locks, and no
//     thread wakes another, unlike in the callback API.
//   - Each method waits for many requests, so that no call waits for a slot.
//   - The answer of GetWidget is kept assembled, so a call only writes it.
//   - A change is encoded once. All streams share its bytes by reference count.
//   - A stream with more messages sets the buffer hint. The library then joins frames into one system
//     call, as far as flow control permits.
//   - A snapshot is encoded once. All streams that join before the next change share it.
//
// A stream sends every change as a separate message. The server ends a stream that is more than
// `framesBehindMax` changes behind with RESOURCE_EXHAUSTED.

#include <grpcpp/grpcpp.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "widgetd/v1/widget_service.grpc.pb.h"

namespace {

using namespace widgetd::v1;

constexpr int requestsAwaited = 128;
constexpr size_t framesBehindMax = 1'000'000;
constexpr size_t snapshotChunkBytes = 64 * 1024;
// The values of widgetd, so that messages have the same size.
constexpr size_t tokenBytes = 24;
constexpr size_t etagBytes = 15;

using WatchService = WidgetService::WithRawMethod_WatchWidgets<WidgetService::Service>;
using UpdateService = WidgetService::WithAsyncMethod_UpdateWidget<WatchService>;
using GetService = WidgetService::WithAsyncMethod_GetWidget<UpdateService>;
using Service = WidgetService::WithAsyncMethod_CreateWidget<GetService>;

/// A waiter for a tag of the queue. The tag is its address.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void done(bool ok) = 0;
};

grpc::ByteBuffer encode(const google::protobuf::MessageLite &message) {
  grpc::Slice slice(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t *>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

class Watch;

/// All widgets, and the changes that at least one stream has not sent.
class Store {
 public:
  bool create(const WidgetSpec &spec, CreateWidgetResponse *answer) {
    auto [place, isNew] = widgets_.try_emplace(spec.id());
    if (!isNew) return false;
    Widget &widget = *place->second.mutable_widget();
    widget.set_id(spec.id());
    widget.set_kind(spec.kind());
    widget.set_family(spec.family() ? spec.family() : FAMILY_MEDIUM);
    *widget.mutable_labels() = spec.labels();
    *widget.mutable_parameters() = spec.parameters();
    *widget.mutable_data() = spec.data();
    widget.mutable_presence()->set_visible(true);
    widget.mutable_presence()->set_enabled(true);
    widget.mutable_presence()->set_state(PRESENCE_STATE_VISIBLE);
    widget.set_position(static_cast<int64_t>(widgets_.size()) << 32);
    widget.set_created_revision(++revision_);
    touch(widget);
    *widget.mutable_create_time() = widget.update_time();
    *answer->mutable_widget() = widget;

    WatchWidgetsResponse frame;
    *frame.mutable_changes()->add_changes()->mutable_added()->mutable_widget() = widget;
    publish(frame);
    return true;
  }

  const GetWidgetResponse *get(const std::string &id) const {
    auto place = widgets_.find(id);
    return place == widgets_.end() ? nullptr : &place->second;
  }

  bool update(UpdateWidgetRequest &request, UpdateWidgetResponse *answer) {
    auto place = widgets_.find(request.id());
    if (place == widgets_.end()) return false;
    Widget &widget = *place->second.mutable_widget();
    ++revision_;
    touch(widget);
    for (const auto &[key, value] : request.patch().set_data()) {
      (*widget.mutable_data())[key] = value;
    }
    answer->set_revision(revision_);
    answer->set_changed(true);
    if (!request.omit_widget()) *answer->mutable_widget() = widget;
    if (watches_.empty()) {
      forgetChanges();
      return true;
    }
    WatchWidgetsResponse frame;
    WidgetUpdated &updated = *frame.mutable_changes()->add_changes()->mutable_updated();
    updated.set_id(widget.id());
    updated.set_revision(revision_);
    updated.set_update_time_nanos(widget.update_time().seconds() * 1'000'000'000 +
                                  widget.update_time().nanos());
    updated.mutable_set_data()->swap(*request.mutable_patch()->mutable_set_data());
    publish(frame);
    return true;
  }

  /// The frames from `opened` to `synced`, shared until the next change.
  std::shared_ptr<const std::vector<grpc::ByteBuffer>> snapshot();

  uint64_t revision() const { return revision_; }
  /// The place of the next change.
  uint64_t end() const { return changesBegin_ + changes_.size(); }
  const grpc::ByteBuffer &change(uint64_t place) const { return changes_[place - changesBegin_]; }

  void add(Watch *watch) { watches_.insert(watch); }
  void remove(Watch *watch) {
    watches_.erase(watch);
    if (watches_.empty()) forgetChanges();
  }

 private:
  void touch(Widget &widget) {
    char etag[etagBytes + 1];
    widget.set_revision(revision_);
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    widget.mutable_update_time()->set_seconds(now.tv_sec);
    widget.mutable_update_time()->set_nanos(static_cast<int32_t>(now.tv_nsec));
    snprintf(etag, sizeof etag, "%0*llx", static_cast<int>(etagBytes),
             static_cast<unsigned long long>(revision_));
    widget.set_etag(etag);
    snapshot_.reset();
  }

  std::string token() const {
    std::string bytes(tokenBytes, '\1');
    memcpy(bytes.data(), &revision_, sizeof revision_);
    return bytes;
  }

  void forgetChanges() {
    changesBegin_ = end();
    changes_.clear();
  }

  void publish(WatchWidgetsResponse &frame);
  void dropSentChanges();

  std::unordered_map<std::string, GetWidgetResponse> widgets_;
  uint64_t revision_ = 0;
  std::shared_ptr<const std::vector<grpc::ByteBuffer>> snapshot_;
  std::deque<grpc::ByteBuffer> changes_;
  uint64_t changesBegin_ = 0;
  uint64_t dropAt_ = 0;
  std::unordered_set<Watch *> watches_;
};

struct Server {
  Service service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  Store store;
};

/// A unary call. After its end, it waits for the next call.
template <typename Request, typename Answer>
class Call final : public Operation {
 public:
  using Responder = grpc::ServerAsyncResponseWriter<Answer>;
  using Await = void (Service::*)(grpc::ServerContext *, Request *, Responder *,
                                  grpc::CompletionQueue *, grpc::ServerCompletionQueue *, void *);
  using Handle = void (*)(Server &, Request &, Responder &, void *);

  Call(Server &server, Await await, Handle handle)
      : server_(server), await_(await), handle_(handle), responder_(&context_) {
    (server_.service.*await_)(&context_, &request_, &responder_, server_.queue.get(),
                              server_.queue.get(), this);
  }

  void done(bool ok) override {
    if (answered_ || !ok) {
      delete this;
      return;
    }
    new Call(server_, await_, handle_);
    answered_ = true;
    handle_(server_, request_, responder_, this);
  }

 private:
  Server &server_;
  Await await_;
  Handle handle_;
  grpc::ServerContext context_;
  Request request_;
  Responder responder_;
  bool answered_ = false;
};

const grpc::Status noWidget(grpc::StatusCode::NOT_FOUND, "no widget has this id");

void handleCreate(Server &server, CreateWidgetRequest &request,
                  grpc::ServerAsyncResponseWriter<CreateWidgetResponse> &responder, void *tag) {
  CreateWidgetResponse answer;
  if (server.store.create(request.widget(), &answer))
    responder.Finish(answer, grpc::Status::OK, tag);
  else
    responder.FinishWithError({grpc::StatusCode::ALREADY_EXISTS, "the id is taken"}, tag);
}

void handleGet(Server &server, GetWidgetRequest &request,
               grpc::ServerAsyncResponseWriter<GetWidgetResponse> &responder, void *tag) {
  if (const GetWidgetResponse *answer = server.store.get(request.id()))
    responder.Finish(*answer, grpc::Status::OK, tag);
  else
    responder.FinishWithError(noWidget, tag);
}

void handleUpdate(Server &server, UpdateWidgetRequest &request,
                  grpc::ServerAsyncResponseWriter<UpdateWidgetResponse> &responder, void *tag) {
  UpdateWidgetResponse answer;
  if (server.store.update(request, &answer))
    responder.Finish(answer, grpc::Status::OK, tag);
  else
    responder.FinishWithError(noWidget, tag);
}

/// A WatchWidgets stream: the snapshot, then every later change.
///
/// If its client is gone or has reset it, it ends at once, also if there is nothing to write.
class Watch final : public Operation {
 public:
  explicit Watch(Server &server) : server_(server), writer_(&context_), over_(*this) {
    context_.AsyncNotifyWhenDone(&over_);
    server_.service.RequestWatchWidgets(&context_, &request_, &writer_, server_.queue.get(),
                                        server_.queue.get(), this);
  }

  void done(bool ok) override {
    switch (step_) {
      case Step::awaited:
        if (!ok) {
          delete this;
          return;
        }
        new Watch(server_);
        return open();
      case Step::open:
        writing_ = false;
        if (isOver_) return leave();
        if (!ok) return end(grpc::Status::CANCELLED);
        return proceed();
      case Step::ended:
        writing_ = false;
        return leave();
    }
  }

  /// Sends the next frame, unless another frame is on its way.
  void proceed() {
    if (writing_ || isOver_ || step_ != Step::open) return;
    Store &store = server_.store;
    if (snapshot_) {
      const grpc::ByteBuffer &frame = (*snapshot_)[sent_++];
      bool more = sent_ < snapshot_->size();
      // The first write has the stream's headers. With a hint, they would wait for ever.
      write(frame, sent_ > 1 && (more || next_ < store.end()));
      if (!more) snapshot_.reset();
    } else if (next_ < store.end()) {
      if (store.end() - next_ > framesBehindMax)
        return end({grpc::StatusCode::RESOURCE_EXHAUSTED, "reads too slowly"});
      const grpc::ByteBuffer &frame = store.change(next_++);
      write(frame, next_ < store.end());
    }
  }

  uint64_t next() const { return next_; }

 private:
  enum class Step { awaited, open, ended };

  /// The end of the call: all was sent, or the client is gone. The library reports it once for each
  /// call that has begun, before or after the end of the last write.
  class Over final : public Operation {
   public:
    explicit Over(Watch &watch) : watch_(watch) {}
    void done(bool) override {
      watch_.isOver_ = true;
      watch_.leave();
    }

   private:
    Watch &watch_;
  };

  /// Stops to be a reader. Frees the stream if the library has no tag of it any more.
  void leave() {
    server_.store.remove(this);
    if (isOver_ && !writing_) delete this;
  }

  void open() {
    WatchWidgetsRequest request;
    grpc::Slice bytes;
    if (request_.Valid() && (!request_.DumpToSingleSlice(&bytes).ok() ||
                             !request.ParseFromArray(bytes.begin(), int(bytes.size()))))
      return end({grpc::StatusCode::INVALID_ARGUMENT, "not a WatchWidgetsRequest"});
    step_ = Step::open;
    snapshot_ = server_.store.snapshot();
    next_ = server_.store.end();
    server_.store.add(this);
    proceed();
  }

  void write(const grpc::ByteBuffer &frame, bool more) {
    grpc::WriteOptions options;
    if (more) options.set_buffer_hint();
    writing_ = true;
    writer_.Write(frame, options, this);
  }

  void end(const grpc::Status &status) {
    step_ = Step::ended;
    writing_ = true;
    writer_.Finish(status, this);
  }

  Server &server_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_;
  Step step_ = Step::awaited;
  Over over_;
  /// Whether the library has the tag of a write, or of the end.
  bool writing_ = false;
  bool isOver_ = false;
  std::shared_ptr<const std::vector<grpc::ByteBuffer>> snapshot_;
  size_t sent_ = 0;    // of the snapshot
  uint64_t next_ = 0;  // the place of the next change
};

void Store::publish(WatchWidgetsResponse &frame) {
  ChangeSet &changes = *frame.mutable_changes();
  changes.set_from_revision(revision_ - 1);
  changes.set_to_revision(revision_);
  changes.set_resume_token(token());
  if (watches_.empty()) return forgetChanges();
  changes_.push_back(encode(frame));
  for (Watch *watch : watches_) watch->proceed();
  if (end() >= dropAt_) dropSentChanges();
}

/// Drops the changes that every stream has sent. Visits all streams, so it does not run after every
/// change.
void Store::dropSentChanges() {
  uint64_t least = end();
  for (const Watch *watch : watches_) least = std::min(least, watch->next());
  changes_.erase(changes_.begin(), changes_.begin() + long(least - changesBegin_));
  changesBegin_ = least;
  dropAt_ = end() + 256 + watches_.size();
}

std::shared_ptr<const std::vector<grpc::ByteBuffer>> Store::snapshot() {
  if (snapshot_) return snapshot_;
  auto frames = std::make_shared<std::vector<grpc::ByteBuffer>>();
  WatchWidgetsResponse frame;
  WatchOpened &opened = *frame.mutable_opened();
  opened.set_subscription_id(1);
  opened.set_epoch(0x0102030405060708);
  opened.set_revision(revision_);
  frames->push_back(encode(frame));
  size_t bytes = 0;
  for (const auto &entry : widgets_) {
    if (bytes == 0) frame.mutable_snapshot()->clear_widgets();
    Widget &copy = *frame.mutable_snapshot()->add_widgets();
    copy = entry.second.widget();
    copy.clear_etag();
    bytes += copy.ByteSizeLong();
    if (bytes < snapshotChunkBytes) continue;
    frames->push_back(encode(frame));
    bytes = 0;
  }
  if (bytes > 0) frames->push_back(encode(frame));
  frame.mutable_synced()->set_revision(revision_);
  frame.mutable_synced()->set_resume_token(token());
  frames->push_back(encode(frame));
  snapshot_ = frames;
  return snapshot_;
}

/// Ends the process. It has no state to save.
void onSignal(int) { _exit(0); }

}  // namespace

int main(int count, char **arguments) {
  if (count != 3 || strcmp(arguments[1], "--socket") != 0) {
    fputs("usage: grpc-c++ --socket PATH\n", stderr);
    return 2;
  }
  signal(SIGTERM, onSignal);
  signal(SIGINT, onSignal);
  Server server;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("unix:") + arguments[2], grpc::InsecureServerCredentials());
  builder.RegisterService(&server.service);
  server.queue = builder.AddCompletionQueue();
  std::unique_ptr<grpc::Server> running = builder.BuildAndStart();
  if (!running) {
    fprintf(stderr, "grpc-c++: cannot listen on %s\n", arguments[2]);
    return 1;
  }
  for (int index = 0; index < requestsAwaited; index++) {
    new Call<CreateWidgetRequest, CreateWidgetResponse>(server, &Service::RequestCreateWidget,
                                                        handleCreate);
    new Call<GetWidgetRequest, GetWidgetResponse>(server, &Service::RequestGetWidget, handleGet);
    new Call<UpdateWidgetRequest, UpdateWidgetResponse>(server, &Service::RequestUpdateWidget,
                                                        handleUpdate);
  }
  new Watch(server);
  void *tag;
  bool ok;
  while (server.queue->Next(&tag, &ok)) static_cast<Operation *>(tag)->done(ok);
}
