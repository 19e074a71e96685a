/*
 * Compares the mirror with a naive copy: random histories of changes, cut into parts at random,
 * with breaks in the middle and snapshots in between. After each set the mirror must equal the
 * naive state. So must a copy that was built from the notices only. A seed decides the histories,
 * and a failure prints the seed: WIDGETCLIENT_SEED=N runs it again.
 */
#include "naive.h"

#include <sanitizer/common_interface_defs.h>

#define HISTORIES 60
#define SETS 60

static bool is_done;

static void name_the_seed(void) {
  if (!is_done) fprintf(stderr, "WIDGETCLIENT_SEED=%llu\n", (unsigned long long)seed);
}

/* Each node is found by its id, and no other id is found. */
static void check_nodes(const wc_mirror *mirror, const char *id, const Widgetd__V1__Widget *widget) {
  const Widgetd__V1__Content *content = widget == NULL ? NULL : widget->content;
  CHECK(wc_mirror_node(mirror, id, "x") == NULL);
  CHECK(wc_mirror_node(mirror, id, NULL) == (widget == NULL ? NULL : wc_node(widget, NULL)));
  for (size_t i = 0; content != NULL && i < content->n_nodes; i++)
    CHECK(wc_mirror_node(mirror, id, content->nodes[i]->id) == content->nodes[i]);
  for (int i = 0; i < NODES; i++) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    CHECK(wc_mirror_node(mirror, id, name) == (widget == NULL ? NULL : wc_node(widget, name)));
  }
}

static void check_state(wc_mirror *mirror, uint64_t revision) {
  size_t count, expected = 0;
  CHECK(wc_mirror_revision(mirror) == revision);
  wc_mirror_sorted(mirror, &count);
  for (int id = 0; id < IDS; id++) {
    char name[16];
    snprintf(name, sizeof name, "w%d", id);
    const Widgetd__V1__Widget *found = wc_mirror_find(mirror, name);
    check_nodes(mirror, name, found);
    CHECK((found != NULL) == truth[id].there);
    expected += truth[id].there;
    naive now = found == NULL ? (naive){0} : read_widget(found);
    CHECK(memcmp(&now.data, &truth[id].data, sizeof now.data) == 0);
    CHECK(now.label == truth[id].label && now.revision == truth[id].revision);
    CHECK(memcmp(&heard[id].data, &truth[id].data, sizeof now.data) == 0);
    CHECK(heard[id].there == truth[id].there);
    if (found == NULL) continue;
    CHECK(now.error == truth[id].error && same_content(&now, &truth[id]));
    CHECK(same_content(&heard[id], &truth[id]));
  }
  CHECK(count == expected);
}

static void snapshot(wc_mirror *mirror, uint64_t revision) {
  wc_mirror_begin(mirror, 1, false);
  int order[IDS];
  for (int i = 0; i < IDS; i++) {
    int at = (int)dice((unsigned)i + 1);
    order[i] = order[at];
    order[at] = i;
  }
  for (int i = 0; i < IDS; i++) {
    watch_frame *frame = new_frame();
    frame->frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SNAPSHOT;
    frame->snapshot = NEW(Widgetd__V1__SnapshotChunk, widgetd__v1__snapshot_chunk__init);
    if (truth[order[i]].there || dice(4) == 0) {
      /* A widget that was removed again may have been sent before. Then the frame names it. */
      frame->snapshot->widgets = malloc(sizeof(Widgetd__V1__Widget *));
      frame->snapshot->widgets[frame->snapshot->n_widgets++] = new_widget(order[i]);
    }
    if (!truth[order[i]].there) {
      frame->snapshot->removed_ids = malloc(sizeof(char *));
      frame->snapshot->removed_ids[frame->snapshot->n_removed_ids++] = copy_of("w%d", order[i]);
    }
    CHECK(take(mirror, frame) == WC_MIRROR_OK);
  }
  watch_frame *frame = new_frame();
  frame->frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED;
  frame->synced = NEW(Widgetd__V1__WatchSynced, widgetd__v1__watch_synced__init);
  frame->synced->revision = revision;
  CHECK(take(mirror, frame) == WC_MIRROR_SETTLED);
  check_state(mirror, revision);
}

static void a_set(wc_mirror *mirror, uint64_t from, uint64_t to) {
  unsigned parts = 1 + dice(3);
  for (unsigned part = 0; part < parts; part++) {
    watch_frame *frame = new_frame();
    bool more = part + 1 < parts;
    frame->frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_CHANGES;
    frame->changes = NEW(Widgetd__V1__ChangeSet, widgetd__v1__change_set__init);
    frame->changes->from_revision = from;
    frame->changes->to_revision = more ? 0 : to;
    frame->changes->more = more;
    frame->changes->changes = calloc(8, sizeof(Widgetd__V1__WidgetChange *));
    for (unsigned n = dice(8); n > 0; n--)
      frame->changes->changes[frame->changes->n_changes++] = random_change(to);
    CHECK(take(mirror, frame) == (more ? WC_MIRROR_OK : WC_MIRROR_SETTLED));
  }
  check_state(mirror, to);
}

static void the_copy_and_its_notices_are_the_state_after_every_set(void) {
  const char *given = getenv("WIDGETCLIENT_SEED");
  uint64_t first = given != NULL ? strtoull(given, NULL, 10) : 1;
  for (seed = first; seed < first + (given != NULL ? 1 : HISTORIES); seed++) {
    state = seed * UINT64_C(0x9e3779b97f4a7c15);
    memset(truth, 0, sizeof truth);
    memset(heard, 0, sizeof heard);
    wc_mirror *mirror = wc_mirror_new(64u << 20);
    uint64_t revision = 0;
    snapshot(mirror, revision);
    for (int i = 0; i < SETS; i++) {
      uint64_t from = revision + dice(2);
      revision = from + 1 + dice(4);
      unsigned what = dice(12);
      if (what == 0) {
        /* The connection is lost in the middle of a set: its parts are forgotten. */
        naive before[IDS];
        memcpy(before, truth, sizeof truth);
        watch_frame *frame = new_frame();
        frame->frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_CHANGES;
        frame->changes = NEW(Widgetd__V1__ChangeSet, widgetd__v1__change_set__init);
        frame->changes->from_revision = from;
        frame->changes->more = true;
        frame->changes->changes = malloc(sizeof(Widgetd__V1__WidgetChange *));
        frame->changes->changes[frame->changes->n_changes++] = random_change(revision);
        CHECK(take(mirror, frame) == WC_MIRROR_OK);
        memcpy(truth, before, sizeof truth);
        wc_mirror_begin(mirror, 1, true);
      } else if (what == 1) {
        for (int n = 0; n < 5; n++) {
          Widgetd__V1__WidgetChange *change = random_change(revision);
          wc_free(change);
        }
        snapshot(mirror, revision);
        continue;
      }
      a_set(mirror, from, revision);
    }
    wc_mirror_free(mirror);
  }
}

/* A snapshot of one widget, whose content has these nodes, in order; children of a node are in `truth`. */
static void snapshot_of(wc_mirror *mirror, const int *numbers, size_t count) {
  Widgetd__V1__Widget *widget = NEW(Widgetd__V1__Widget, widgetd__v1__widget__init);
  widget->id = strdup("w0");
  widget->content = NEW(Widgetd__V1__Content, widgetd__v1__content__init);
  widget->content->root_id = strdup("n0");
  widget->content->nodes = malloc(count * sizeof *widget->content->nodes);
  for (size_t i = 0; i < count; i++)
    widget->content->nodes[widget->content->n_nodes++] = new_node(&truth[0], numbers[i]);
  watch_frame *frame = new_frame();
  frame->frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SNAPSHOT;
  frame->snapshot = NEW(Widgetd__V1__SnapshotChunk, widgetd__v1__snapshot_chunk__init);
  frame->snapshot->widgets = malloc(sizeof widget);
  frame->snapshot->widgets[frame->snapshot->n_widgets++] = widget;
  wc_mirror_begin(mirror, 1, false);
  CHECK(take(mirror, frame) == WC_MIRROR_OK);
  frame = new_frame();
  frame->frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED;
  frame->synced = NEW(Widgetd__V1__WatchSynced, widgetd__v1__watch_synced__init);
  CHECK(take(mirror, frame) == WC_MIRROR_SETTLED);
}

static void content_that_comes_with_faults_is_cut_to_a_tree(void) {
  static const struct {
    /* The received nodes and the first child of each node, then the shown nodes. */
    int nodes[4], count, children[4], shown[4], shown_count;
  } cases[] = {
      {{0, 1, 2}, 3, {1, 2, 0}, {0, 1, 2}, 3},   /* a circle through the top */
      {{0, 1, 2}, 3, {1, 1, 1}, {0, 1}, 2},      /* a child of itself, a node beside the tree */
      {{2, 1, 0}, 3, {1, 2, 7}, {0, 1, 2}, 3},   /* children first, a child that is missing */
      {{0, 1, 1, 0}, 4, {1, 7}, {0, 1}, 2},      /* nodes that come twice */
      {{1, 2}, 2, {1, 2, 1}, {0}, 0},            /* no top */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    memset(truth, 0, sizeof truth);
    memset(heard, 0, sizeof heard);
    for (int n = 0; n < 4; n++) {
      truth[0].nodes[n].children_count = 1;
      truth[0].nodes[n].children[0] = cases[i].children[n];
    }
    wc_mirror *mirror = wc_mirror_new(64u << 20);
    snapshot_of(mirror, cases[i].nodes, (size_t)cases[i].count);
    const Widgetd__V1__Content *content = wc_mirror_find(mirror, "w0")->content;
    CHECK(content->n_nodes == (size_t)cases[i].shown_count);
    for (size_t n = 0; n < content->n_nodes; n++) {
      CHECK(index_of(content->nodes[n]->id) == cases[i].shown[n]);
      CHECK(wc_mirror_node(mirror, "w0", content->nodes[n]->id) == content->nodes[n]);
    }
    wc_mirror_free(mirror);
  }
}

/* After changes, the count of bytes equals the count for the same widgets from a snapshot. */
static void the_memory_of_changed_content_is_counted(void) {
  memset(truth, 0, sizeof truth);
  memset(heard, 0, sizeof heard);
  state = 5;
  wc_mirror *mirror = wc_mirror_new(64u << 20), *other = wc_mirror_new(64u << 20);
  snapshot(mirror, 0);
  uint64_t revision = 0;
  for (int i = 0; i < 100; i++) {
    a_set(mirror, revision, revision + 1);
    revision++;
  }
  memset(heard, 0, sizeof heard);
  snapshot(other, revision);
  size_t counted = wc_mirror_bytes(mirror), expected = wc_mirror_bytes(other);
  CHECK(counted > expected * 9 / 10 && counted < expected * 11 / 10);
  wc_mirror_free(mirror);
  wc_mirror_free(other);
}

static void the_cost_of_a_message_counts_what_it_holds(void) {
  truth[0] = (naive){.there = true};
  Widgetd__V1__Widget *widget = new_widget(0);
  size_t empty = wc_message_cost(&widget->base);
  widget->kind = calloc(1, 100001);
  memset(widget->kind, 'x', 100000);
  size_t full = wc_message_cost(&widget->base);
  CHECK(empty >= sizeof *widget && full >= empty + 100000 && full < empty + 100100);
  wc_free(widget);
}

int main(void) {
  atexit(name_the_seed);
  __sanitizer_set_death_callback(name_the_seed);
  TEST(the_copy_and_its_notices_are_the_state_after_every_set);
  TEST(content_that_comes_with_faults_is_cut_to_a_tree);
  TEST(the_memory_of_changed_content_is_counted);
  TEST(the_cost_of_a_message_counts_what_it_holds);
  is_done = true;
}
