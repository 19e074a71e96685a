#include <stddef.h>
#include <stdint.h>

// Of libFuzzer.
int LLVMFuzzerRunDriver(int *count, char ***words, int (*target)(const uint8_t *, size_t));
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

// libFuzzer has a main function, but SwiftPM links programs with this one in its place.
int widgetd_fuzz_main(int count, char **words) {
  return LLVMFuzzerRunDriver(&count, &words, LLVMFuzzerTestOneInput);
}
