/*
 * The copy of the widgets beside a naive one: random histories of changes, cut into parts at
 * random, with breaks in the middle and snapshots in between. After each set the copy must be the
 * naive state, and so must be what somebody holds who only heard the notices. Decided by a seed,
 * which a failure names: WIDGETCLIENT_SEED=N runs it again.
 */
#include "fake.h"

#include <sanitizer/common_interface_defs.h>

#define IDS 40
#define HISTORIES 60
#define SETS 60

static uint64_t state, seed;
static bool is_done;

static void name_the_seed(void) {
  if (!is_done) fprintf(stderr, "WIDGETCLIENT_SEED=%llu\n", (unsigned long long)seed);
}

static unsigned dice(unsigned sides) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33) % sides;
}

/* A widget: absent, or data k0 to k5, each absent (0) or a number. */
typedef struct naive {
  bool there;
  int data[6];
  int label;
  uint64_t revision;
} naive;

static naive truth[IDS], heard[IDS];

static int index_of(const char *id) { return atoi(id + 1); }

static naive read_widget(const Widgetd__V1__Widget *widget) {
  naive result = {.there = true, .revision = widget->revision};
  for (size_t i = 0; i < widget->n_data; i++) {
    if (i > 0) CHECK(strcmp(widget->data[i - 1]->key, widget->data[i]->key) < 0);
    result.data[widget->data[i]->key[1] - '0'] = (int)widget->data[i]->value->int_value;
  }
  if (widget->n_labels > 0) result.label = atoi(widget->labels[0]->value);
  CHECK(widget->n_labels <= 1);
  return result;
}

static bool on_difference(void *context, const wc_notice *notice) {
  (void)context;
  naive *at = &heard[index_of(notice->widget->id)];
  CHECK(at->there == (notice->kind != WC_NOTICE_ADDED));
  if (notice->kind == WC_NOTICE_UPDATED && notice->update != NULL) {
    /* The update as it came: applied by hand it gives the same. */
    naive now = *at;
    for (size_t i = 0; i < notice->update->n_unset_data; i++)
      now.data[notice->update->unset_data[i][1] - '0'] = 0;
    for (size_t i = 0; i < notice->update->n_set_data; i++)
      now.data[notice->update->set_data[i]->key[1] - '0'] =
          (int)notice->update->set_data[i]->value->int_value;
    CHECK(memcmp(now.data, read_widget(notice->widget).data, sizeof now.data) == 0);
  }
  if (notice->kind == WC_NOTICE_REMOVED) *at = (naive){0};
  else *at = read_widget(notice->widget);
  return true;
}

/* Messages are made field by field with malloc, as if unpacked. */
static char *copy_of(const char *format, int number) {
  char text[32];
  snprintf(text, sizeof text, format, number);
  return strdup(text);
}

static Widgetd__V1__Value *new_value(int number) {
  Widgetd__V1__Value *value = malloc(sizeof *value);
  *value = wc_int(number);
  return value;
}

#define NEW(type, init) ({ type *made_ = malloc(sizeof *made_); init(made_); made_; })

static Widgetd__V1__Widget *new_widget(int id) {
  Widgetd__V1__Widget *widget = NEW(Widgetd__V1__Widget, widgetd__v1__widget__init);
  const naive *from = &truth[id];
  widget->id = copy_of("w%d", id);
  widget->revision = from->revision;
  widget->data = calloc(6, sizeof *widget->data);
  for (int i = 5; i >= 0; i--) {
    if (from->data[i] == 0) continue;
    Widgetd__V1__Widget__DataEntry *entry =
        NEW(Widgetd__V1__Widget__DataEntry, widgetd__v1__widget__data_entry__init);
    entry->key = copy_of("k%d", i);
    entry->value = new_value(from->data[i]);
    widget->data[widget->n_data++] = entry;
  }
  if (from->label != 0) {
    Widgetd__V1__Widget__LabelsEntry *label =
        NEW(Widgetd__V1__Widget__LabelsEntry, widgetd__v1__widget__labels_entry__init);
    label->key = strdup("l");
    label->value = copy_of("%d", from->label);
    widget->labels = malloc(sizeof *widget->labels);
    widget->labels[widget->n_labels++] = label;
  }
  return widget;
}

static watch_frame *new_frame(void) {
  return NEW(watch_frame, widgetd__v1__watch_widgets_response__init);
}

static wc_mirror_result take(wc_mirror *mirror, watch_frame *frame) {
  return wc_mirror_take(mirror, frame, wc_message_cost(&frame->base), on_difference, NULL);
}

static Widgetd__V1__WidgetChange *random_change(uint64_t revision) {
  Widgetd__V1__WidgetChange *change =
      NEW(Widgetd__V1__WidgetChange, widgetd__v1__widget_change__init);
  int id = (int)dice(IDS);
  naive *at = &truth[id];
  if (dice(6) == 0) {
    *at = (naive){0};
    change->change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_REMOVED;
    change->removed = NEW(Widgetd__V1__WidgetRemoved, widgetd__v1__widget_removed__init);
    change->removed->id = copy_of("w%d", id);
    return change;
  }
  if (!at->there || dice(6) == 0) {
    *at = (naive){.there = true, .revision = revision, .label = (int)dice(3)};
    for (int i = 0; i < 6; i++) at->data[i] = dice(2) ? (int)dice(1000) + 1 : 0;
    change->change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED;
    change->added = NEW(Widgetd__V1__WidgetAdded, widgetd__v1__widget_added__init);
    change->added->widget = new_widget(id);
    return change;
  }
  Widgetd__V1__WidgetUpdated *update =
      NEW(Widgetd__V1__WidgetUpdated, widgetd__v1__widget_updated__init);
  change->change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED;
  change->updated = update;
  update->id = copy_of("w%d", id);
  update->revision = at->revision = revision;
  update->set_data = calloc(12, sizeof *update->set_data);
  update->unset_data = calloc(6, sizeof *update->unset_data);
  for (int i = 0; i < 6; i++) {
    unsigned what = dice(5);
    if (what == 0) {
      at->data[i] = 0;
      update->unset_data[update->n_unset_data++] = copy_of("k%d", i);
    }
    for (unsigned n = 1; what > 2 && n < what - 1; n++) {
      /* A key may be there twice: the last counts. */
      at->data[i] = (int)dice(1000) + 1;
      Widgetd__V1__WidgetUpdated__SetDataEntry *entry =
          NEW(Widgetd__V1__WidgetUpdated__SetDataEntry,
              widgetd__v1__widget_updated__set_data_entry__init);
      entry->key = copy_of("k%d", i);
      entry->value = new_value(at->data[i]);
      update->set_data[update->n_set_data++] = entry;
    }
  }
  if (dice(4) == 0) {
    at->label = (int)dice(3);
    update->labels = NEW(Widgetd__V1__LabelSet, widgetd__v1__label_set__init);
    if (at->label != 0) {
      Widgetd__V1__LabelSet__LabelsEntry *entry =
          NEW(Widgetd__V1__LabelSet__LabelsEntry, widgetd__v1__label_set__labels_entry__init);
      entry->key = strdup("l");
      entry->value = copy_of("%d", at->label);
      update->labels->labels = malloc(sizeof *update->labels->labels);
      update->labels->labels[update->labels->n_labels++] = entry;
    }
  }
  return change;
}

static void check_state(wc_mirror *mirror, uint64_t revision) {
  size_t count, expected = 0;
  CHECK(wc_mirror_revision(mirror) == revision);
  wc_mirror_sorted(mirror, &count);
  for (int id = 0; id < IDS; id++) {
    char name[16];
    snprintf(name, sizeof name, "w%d", id);
    const Widgetd__V1__Widget *found = wc_mirror_find(mirror, name);
    CHECK((found != NULL) == truth[id].there);
    expected += truth[id].there;
    naive now = found == NULL ? (naive){0} : read_widget(found);
    CHECK(memcmp(&now.data, &truth[id].data, sizeof now.data) == 0);
    CHECK(now.label == truth[id].label && now.revision == truth[id].revision);
    CHECK(memcmp(&heard[id].data, &truth[id].data, sizeof now.data) == 0);
    CHECK(heard[id].there == truth[id].there);
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
      /* One that is gone again may have been sent before, and is then named. */
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
  TEST(the_cost_of_a_message_counts_what_it_holds);
  is_done = true;
}
