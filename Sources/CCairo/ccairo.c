#include "ccairo.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The types and constants that are used here, from the libraries' stable ABI. */
typedef struct cairo cairo_t;
typedef struct cairo_surface cairo_surface_t;
typedef struct cairo_pattern cairo_pattern_t;
typedef struct cairo_font_options cairo_font_options_t;
typedef struct pango_layout PangoLayout;
typedef struct pango_context PangoContext;
typedef struct pango_font_description PangoFontDescription;
typedef struct pango_attr_list PangoAttrList;
typedef struct pango_attribute PangoAttribute;
enum {
  FORMAT_ARGB32 = 0,
  LINE_ROUND = 1,
  FILTER_GOOD = 1,
  EXTEND_PAD = 3,
  ANTIALIAS_GRAY = 2,
  HINT_STYLE_NONE = 1,
  HINT_METRICS_OFF = 1,
  STYLE_ITALIC = 2,
  UNDERLINE_SINGLE = 1,
  PANGO_UNITS = 1024,
};

/* One line for each function: library, result, name, arguments. */
#define FUNCTIONS(F)                                                                               \
  F(cairo, cairo_surface_t *, cairo_image_surface_create, (int, int, int))                         \
  F(cairo, cairo_surface_t *, cairo_image_surface_create_for_data,                                 \
    (unsigned char *, int, int, int, int))                                                         \
  F(cairo, int, cairo_surface_status, (cairo_surface_t *))                                         \
  F(cairo, int, cairo_status, (cairo_t *))                                                         \
  F(cairo, int, cairo_surface_write_to_png_stream,                                                 \
    (cairo_surface_t *, int (*)(void *, const unsigned char *, unsigned int), void *))             \
  F(cairo, void, cairo_surface_destroy, (cairo_surface_t *))                                       \
  F(cairo, cairo_t *, cairo_create, (cairo_surface_t *))                                           \
  F(cairo, void, cairo_destroy, (cairo_t *))                                                       \
  F(cairo, void, cairo_save, (cairo_t *))                                                          \
  F(cairo, void, cairo_restore, (cairo_t *))                                                       \
  F(cairo, void, cairo_scale, (cairo_t *, double, double))                                         \
  F(cairo, void, cairo_translate, (cairo_t *, double, double))                                     \
  F(cairo, void, cairo_move_to, (cairo_t *, double, double))                                       \
  F(cairo, void, cairo_line_to, (cairo_t *, double, double))                                       \
  F(cairo, void, cairo_close_path, (cairo_t *))                                                    \
  F(cairo, void, cairo_new_path, (cairo_t *))                                                      \
  F(cairo, void, cairo_new_sub_path, (cairo_t *))                                                  \
  F(cairo, void, cairo_arc, (cairo_t *, double, double, double, double, double))                   \
  F(cairo, void, cairo_rectangle, (cairo_t *, double, double, double, double))                     \
  F(cairo, void, cairo_set_source_rgba, (cairo_t *, double, double, double, double))               \
  F(cairo, void, cairo_set_source_surface, (cairo_t *, cairo_surface_t *, double, double))         \
  F(cairo, cairo_pattern_t *, cairo_get_source, (cairo_t *))                                       \
  F(cairo, void, cairo_pattern_set_filter, (cairo_pattern_t *, int))                               \
  F(cairo, void, cairo_pattern_set_extend, (cairo_pattern_t *, int))                               \
  F(cairo, void, cairo_set_line_width, (cairo_t *, double))                                        \
  F(cairo, void, cairo_set_line_cap, (cairo_t *, int))                                             \
  F(cairo, void, cairo_set_line_join, (cairo_t *, int))                                            \
  F(cairo, void, cairo_fill_preserve, (cairo_t *))                                                 \
  F(cairo, void, cairo_fill, (cairo_t *))                                                          \
  F(cairo, void, cairo_stroke_preserve, (cairo_t *))                                               \
  F(cairo, void, cairo_clip, (cairo_t *))                                                          \
  F(cairo, void, cairo_push_group, (cairo_t *))                                                    \
  F(cairo, void, cairo_pop_group_to_source, (cairo_t *))                                           \
  F(cairo, void, cairo_paint_with_alpha, (cairo_t *, double))                                      \
  F(cairo, cairo_font_options_t *, cairo_font_options_create, (void))                              \
  F(cairo, void, cairo_font_options_destroy, (cairo_font_options_t *))                             \
  F(cairo, void, cairo_font_options_set_antialias, (cairo_font_options_t *, int))                  \
  F(cairo, void, cairo_font_options_set_hint_style, (cairo_font_options_t *, int))                 \
  F(cairo, void, cairo_font_options_set_hint_metrics, (cairo_font_options_t *, int))               \
  F(pangocairo, PangoLayout *, pango_cairo_create_layout, (cairo_t *))                             \
  F(pangocairo, void, pango_cairo_context_set_font_options,                                        \
    (PangoContext *, const cairo_font_options_t *))                                                \
  F(pangocairo, void, pango_cairo_show_layout, (cairo_t *, PangoLayout *))                         \
  F(pango, PangoContext *, pango_layout_get_context, (PangoLayout *))                              \
  F(pango, void, pango_context_set_round_glyph_positions, (PangoContext *, int))                   \
  F(pango, void, pango_layout_set_text, (PangoLayout *, const char *, int))                        \
  F(pango, void, pango_layout_set_single_paragraph_mode, (PangoLayout *, int))                     \
  F(pango, void, pango_layout_set_font_description, (PangoLayout *, const PangoFontDescription *)) \
  F(pango, void, pango_layout_set_attributes, (PangoLayout *, PangoAttrList *))                    \
  F(pango, void, pango_layout_get_size, (PangoLayout *, int *, int *))                             \
  F(pango, int, pango_layout_get_baseline, (PangoLayout *))                                        \
  F(pango, PangoFontDescription *, pango_font_description_new, (void))                             \
  F(pango, void, pango_font_description_free, (PangoFontDescription *))                            \
  F(pango, void, pango_font_description_set_family, (PangoFontDescription *, const char *))        \
  F(pango, void, pango_font_description_set_absolute_size, (PangoFontDescription *, double))       \
  F(pango, void, pango_font_description_set_weight, (PangoFontDescription *, int))                 \
  F(pango, void, pango_font_description_set_style, (PangoFontDescription *, int))                  \
  F(pango, PangoAttrList *, pango_attr_list_new, (void))                                           \
  F(pango, void, pango_attr_list_insert, (PangoAttrList *, PangoAttribute *))                      \
  F(pango, void, pango_attr_list_unref, (PangoAttrList *))                                         \
  F(pango, PangoAttribute *, pango_attr_underline_new, (int))                                      \
  F(pango, PangoAttribute *, pango_attr_strikethrough_new, (int))                                  \
  F(gobject, void, g_object_unref, (void *))

#define POINTER(library, result, name, arguments) result(*name) arguments;
static struct {
  FUNCTIONS(POINTER)
} api;
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *library, const char *name, void *place) {
  /* ISO C cannot convert an object pointer to a function pointer. POSIX allows it in this form. */
  *(void **)place = dlsym(library, name);
  return *(void **)place != NULL;
}

static void load(void) {
  void *cairo = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
  void *pango = dlopen("libpango-1.0.so.0", RTLD_NOW | RTLD_LOCAL);
  void *pangocairo = dlopen("libpangocairo-1.0.so.0", RTLD_NOW | RTLD_LOCAL);
  void *gobject = dlopen("libgobject-2.0.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!cairo || !pango || !pangocairo || !gobject) return;
#define FIND(library, result, name, arguments) &&find(library, #name, &api.name)
  is_loaded = true FUNCTIONS(FIND);
}

bool ccairo_is_available(void) {
  pthread_once(&once, load);
  return is_loaded;
}

struct ccairo {
  cairo_surface_t *surface;
  cairo_t *cairo;
  PangoLayout *layout;
};

struct ccairo *ccairo_new(int width, int height, double scale) {
  if (!ccairo_is_available()) return NULL;
  struct ccairo *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->surface = api.cairo_image_surface_create(FORMAT_ARGB32, width, height);
  if (api.cairo_surface_status(self->surface) != 0) {
    ccairo_free(self);
    return NULL;
  }
  self->cairo = api.cairo_create(self->surface);
  api.cairo_scale(self->cairo, scale, scale);
  self->layout = api.pango_cairo_create_layout(self->cairo);
  cairo_font_options_t *options = api.cairo_font_options_create();
  api.cairo_font_options_set_antialias(options, ANTIALIAS_GRAY);
  api.cairo_font_options_set_hint_style(options, HINT_STYLE_NONE);
  api.cairo_font_options_set_hint_metrics(options, HINT_METRICS_OFF);
  PangoContext *context = api.pango_layout_get_context(self->layout);
  api.pango_cairo_context_set_font_options(context, options);
  api.pango_context_set_round_glyph_positions(context, 0);
  api.cairo_font_options_destroy(options);
  api.pango_layout_set_single_paragraph_mode(self->layout, 1);
  return self;
}

void ccairo_free(struct ccairo *self) {
  if (!self) return;
  if (self->layout) api.g_object_unref(self->layout);
  if (self->cairo) api.cairo_destroy(self->cairo);
  if (self->surface) api.cairo_surface_destroy(self->surface);
  free(self);
}

static void set_text(struct ccairo *self, const char *text, size_t count,
                     const struct ccairo_font *font) {
  PangoFontDescription *description = api.pango_font_description_new();
  api.pango_font_description_set_family(description, font->family);
  api.pango_font_description_set_absolute_size(description, font->size * PANGO_UNITS);
  api.pango_font_description_set_weight(description, font->weight);
  if (font->is_italic) api.pango_font_description_set_style(description, STYLE_ITALIC);
  api.pango_layout_set_font_description(self->layout, description);
  api.pango_font_description_free(description);
  api.pango_layout_set_attributes(self->layout, NULL);
  api.pango_layout_set_text(self->layout, text, (int)count);
}

static double shown_width(struct ccairo *self) {
  int width = 0;
  api.pango_layout_get_size(self->layout, &width, NULL);
  return (double)width / PANGO_UNITS;
}

double ccairo_text_width(struct ccairo *self, const char *text, size_t count,
                         const struct ccairo_font *font) {
  set_text(self, text, count, font);
  return shown_width(self);
}

void ccairo_save(struct ccairo *self) { api.cairo_save(self->cairo); }
void ccairo_restore(struct ccairo *self) { api.cairo_restore(self->cairo); }
void ccairo_move(struct ccairo *self, double x, double y) { api.cairo_move_to(self->cairo, x, y); }
void ccairo_line(struct ccairo *self, double x, double y) { api.cairo_line_to(self->cairo, x, y); }
void ccairo_close(struct ccairo *self) { api.cairo_close_path(self->cairo); }

void ccairo_arc(struct ccairo *self, double x, double y, double radius, double from, double to) {
  api.cairo_new_sub_path(self->cairo);
  api.cairo_arc(self->cairo, x, y, radius, from, to);
}

void ccairo_rectangle(struct ccairo *self, double x, double y, double width, double height,
                      double corner) {
  double most = fmin(width, height) / 2;
  double radius = fmin(corner, most);
  if (radius <= 0) {
    api.cairo_rectangle(self->cairo, x, y, width, height);
    return;
  }
  api.cairo_new_sub_path(self->cairo);
  api.cairo_arc(self->cairo, x + width - radius, y + radius, radius, -M_PI / 2, 0);
  api.cairo_arc(self->cairo, x + width - radius, y + height - radius, radius, 0, M_PI / 2);
  api.cairo_arc(self->cairo, x + radius, y + height - radius, radius, M_PI / 2, M_PI);
  api.cairo_arc(self->cairo, x + radius, y + radius, radius, M_PI, M_PI * 3 / 2);
  api.cairo_close_path(self->cairo);
}

static void set_color(struct ccairo *self, const struct ccairo_color *color) {
  api.cairo_set_source_rgba(self->cairo, color->red, color->green, color->blue, color->alpha);
}

void ccairo_paint(struct ccairo *self, const struct ccairo_color *fill,
                  const struct ccairo_color *stroke, double line_width, bool is_round) {
  if (fill) {
    set_color(self, fill);
    api.cairo_fill_preserve(self->cairo);
  }
  if (stroke) {
    set_color(self, stroke);
    api.cairo_set_line_width(self->cairo, line_width);
    api.cairo_set_line_cap(self->cairo, is_round ? LINE_ROUND : 0);
    api.cairo_set_line_join(self->cairo, is_round ? LINE_ROUND : 0);
    api.cairo_stroke_preserve(self->cairo);
  }
  api.cairo_new_path(self->cairo);
}

void ccairo_clip(struct ccairo *self) { api.cairo_clip(self->cairo); }
void ccairo_begin_group(struct ccairo *self) { api.cairo_push_group(self->cairo); }

void ccairo_end_group(struct ccairo *self, double opacity) {
  api.cairo_pop_group_to_source(self->cairo);
  api.cairo_paint_with_alpha(self->cairo, opacity);
}

void ccairo_text(struct ccairo *self, const char *text, size_t count, const struct ccairo_font *font,
                 double x, double y, double width, const struct ccairo_color *color,
                 bool is_underlined, bool is_struck_through) {
  set_text(self, text, count, font);
  if (is_underlined || is_struck_through) {
    PangoAttrList *attributes = api.pango_attr_list_new();
    if (is_underlined)
      api.pango_attr_list_insert(attributes, api.pango_attr_underline_new(UNDERLINE_SINGLE));
    if (is_struck_through)
      api.pango_attr_list_insert(attributes, api.pango_attr_strikethrough_new(1));
    api.pango_layout_set_attributes(self->layout, attributes);
    api.pango_attr_list_unref(attributes);
  }
  double natural = shown_width(self);
  api.cairo_save(self->cairo);
  set_color(self, color);
  api.cairo_translate(self->cairo, x, y);
  if (natural > width && natural > 0) api.cairo_scale(self->cairo, width / natural, 1);
  api.cairo_move_to(self->cairo, 0,
                    -(double)api.pango_layout_get_baseline(self->layout) / PANGO_UNITS);
  api.pango_cairo_show_layout(self->cairo, self->layout);
  api.cairo_restore(self->cairo);
  api.cairo_new_path(self->cairo);
}

void ccairo_image(struct ccairo *self, const uint32_t *argb, int width, int height, double x,
                  double y, double shown_width, double shown_height) {
  /* The cast drops const; cairo only reads the picture. */
  cairo_surface_t *image = api.cairo_image_surface_create_for_data((unsigned char *)argb,
                                                                   FORMAT_ARGB32, width, height,
                                                                   width * 4);
  if (api.cairo_surface_status(image) == 0) {
    api.cairo_save(self->cairo);
    api.cairo_translate(self->cairo, x, y);
    api.cairo_scale(self->cairo, shown_width / width, shown_height / height);
    api.cairo_rectangle(self->cairo, 0, 0, width, height);
    api.cairo_set_source_surface(self->cairo, image, 0, 0);
    api.cairo_pattern_set_filter(api.cairo_get_source(self->cairo), FILTER_GOOD);
    api.cairo_pattern_set_extend(api.cairo_get_source(self->cairo), EXTEND_PAD);
    api.cairo_fill(self->cairo);
    /* The caller owns the picture's memory. A new source drops cairo's reference to it. */
    api.cairo_set_source_rgba(self->cairo, 0, 0, 0, 0);
    api.cairo_restore(self->cairo);
  }
  api.cairo_surface_destroy(image);
}

struct bytes {
  uint8_t *start;
  size_t count, room;
};

/* Returns a cairo_status_t: 0, or CAIRO_STATUS_NO_MEMORY. */
static int append(void *closure, const unsigned char *data, unsigned int length) {
  struct bytes *bytes = closure;
  if (bytes->room - bytes->count < length) {
    size_t room = (bytes->count + length) * 2;
    uint8_t *start = realloc(bytes->start, room);
    if (!start) return 1;
    bytes->start = start;
    bytes->room = room;
  }
  memcpy(bytes->start + bytes->count, data, length);
  bytes->count += length;
  return 0;
}

uint8_t *ccairo_png(struct ccairo *self, size_t *count) {
  struct bytes bytes = {0};
  /* A context that has failed, for lack of memory for example, has left marks out. */
  if (api.cairo_status(self->cairo) != 0) return NULL;
  if (api.cairo_surface_write_to_png_stream(self->surface, append, &bytes) != 0) {
    free(bytes.start);
    return NULL;
  }
  *count = bytes.count;
  return bytes.start;
}
