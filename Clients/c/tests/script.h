/* A scripted daemon in a thread, for calls and streams that block. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "fake.h"

/* The daemon's actions on the next requests, one after the other. */
typedef struct script {
  fake server;
  pthread_t thread;
  void (*play)(struct script *);
  /* The last request. */
  char method[128];
  int64_t timeout;
  uint8_t payload[4096];
  size_t payload_count;
  uint32_t id;
} script;

static inline bool next_request(script *with) {
  Ttrpc__V1__Request *request = fake_request(&with->server, &with->id);
  if (request == NULL) return false;
  snprintf(with->method, sizeof with->method, "%s/%s", request->service, request->method);
  with->timeout = request->timeout_nano;
  with->payload_count = request->payload.len < sizeof with->payload ? request->payload.len : 0;
  if (with->payload_count > 0) memcpy(with->payload, request->payload.data, with->payload_count);
  wc_free(request);
  return true;
}

static inline void *run(void *context) {
  script *with = context;
  fake_accept(&with->server);
  with->play(with);
  fake_hang_up(&with->server);
  return NULL;
}

static inline wc_client *begin(script *with, void (*play)(script *)) {
  wc_error error;
  *with = (script){.server = fake_start(), .play = play};
  CHECK(pthread_create(&with->thread, NULL, run, with) == 0);
  wc_client *client = wc_connect(with->server.path, &error);
  CHECK(client != NULL);
  return client;
}

static inline void end(script *with, wc_client *client) {
  wc_close(client);
  pthread_join(with->thread, NULL);
  fake_stop(&with->server);
}

#endif
