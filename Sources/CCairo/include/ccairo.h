#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Paints pixels with cairo, and text with pango. The first use loads both libraries. ccairo.c declares the
 * functions that it calls, so neither the build nor the start of a program needs the libraries.
 */

/* Whether libcairo.so.2, libpango-1.0.so.0, libpangocairo-1.0.so.0 and libgobject-2.0.so.0 load. */
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

/* A transparent picture; width and height in pixels. The scale is pixels per unit of all other lengths.
 * NULL if there is no memory. */
struct ccairo *ccairo_new(int width, int height, double scale);
void ccairo_free(struct ccairo *self);

/* The width of a text on one line. */
double ccairo_text_width(struct ccairo *self, const char *text, size_t count,
                         const struct ccairo_font *font);

void ccairo_save(struct ccairo *self);
void ccairo_restore(struct ccairo *self);

/* These calls add to the path. `ccairo_paint` and `ccairo_clip` use the path and end it. */
void ccairo_move(struct ccairo *self, double x, double y);
void ccairo_line(struct ccairo *self, double x, double y);
void ccairo_close(struct ccairo *self);
/* Angles in radians, clockwise from three o'clock. */
void ccairo_arc(struct ccairo *self, double x, double y, double radius, double from, double to);
void ccairo_rectangle(struct ccairo *self, double x, double y, double width, double height,
                      double corner);

/* Fills and outlines the path. A NULL colour skips the step. */
void ccairo_paint(struct ccairo *self, const struct ccairo_color *fill,
                  const struct ccairo_color *stroke, double line_width, bool is_round);
void ccairo_clip(struct ccairo *self);

/* Everything painted until `ccairo_end_group` is blended as one picture, with an opacity. */
void ccairo_begin_group(struct ccairo *self);
void ccairo_end_group(struct ccairo *self, double opacity);

/* One line of text with its baseline at y. Text wider than `width` is squeezed to it. */
void ccairo_text(struct ccairo *self, const char *text, size_t count, const struct ccairo_font *font,
                 double x, double y, double width, const struct ccairo_color *color,
                 bool is_underlined, bool is_struck_through);

/* A picture of premultiplied ARGB words, scaled to a rectangle. */
void ccairo_image(struct ccairo *self, const uint32_t *argb, int width, int height, double x,
                  double y, double shown_width, double shown_height);

/* The picture as a PNG file. The caller frees it with `free`. NULL if there is no memory. */
uint8_t *ccairo_png(struct ccairo *self, size_t *count);
