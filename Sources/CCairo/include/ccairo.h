#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Painting pixels with cairo, and text with pango. Both are loaded when the first picture is painted, and
 * declared here as far as they are used: neither building nor starting a program needs them.
 */

/* Whether libcairo.so.2, libpango-1.0.so.0, libpangocairo-1.0.so.0 and libgobject-2.0.so.0 are there. */
bool ccairo_is_available(void);

struct ccairo_color {
  double red, green, blue, alpha;
};

struct ccairo_font {
  const char *family;
  double size;
  /* 300, 400 or 700. */
  int weight;
  bool is_italic;
};

struct ccairo;

/* A transparent picture of so many pixels; lengths are multiplied by the scale. NULL if there is no memory. */
struct ccairo *ccairo_new(int width, int height, double scale);
void ccairo_free(struct ccairo *self);

/* The width of a text on one line. */
double ccairo_text_width(struct ccairo *self, const char *text, size_t count,
                         const struct ccairo_font *font);

void ccairo_save(struct ccairo *self);
void ccairo_restore(struct ccairo *self);

/* The path: what is added is filled, stroked or clipped to by one of the calls below, which end it. */
void ccairo_move(struct ccairo *self, double x, double y);
void ccairo_line(struct ccairo *self, double x, double y);
void ccairo_close(struct ccairo *self);
/* Angles in radians, clockwise from three o'clock. */
void ccairo_arc(struct ccairo *self, double x, double y, double radius, double from, double to);
void ccairo_rectangle(struct ccairo *self, double x, double y, double width, double height,
                      double corner);

/* Fills and outlines the path; each if it has a colour. */
void ccairo_paint(struct ccairo *self, const struct ccairo_color *fill,
                  const struct ccairo_color *stroke, double line_width, bool is_round);
void ccairo_clip(struct ccairo *self);

/* What is painted until `ccairo_end_group` is painted as one, with an opacity. */
void ccairo_begin_group(struct ccairo *self);
void ccairo_end_group(struct ccairo *self, double opacity);

/* A text on one line with its baseline at y, squeezed to a width if it is wider. */
void ccairo_text(struct ccairo *self, const char *text, size_t count, const struct ccairo_font *font,
                 double x, double y, double width, const struct ccairo_color *color,
                 bool is_underlined, bool is_struck_through);

/* A picture of premultiplied ARGB words, drawn over a rectangle. */
void ccairo_image(struct ccairo *self, const uint32_t *argb, int width, int height, double x,
                  double y, double shown_width, double shown_height);

/* The picture as a PNG file, to be freed with `free`; NULL if there is no memory. */
uint8_t *ccairo_png(struct ccairo *self, size_t *count);
