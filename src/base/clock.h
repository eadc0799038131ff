/*
 * clock.h - the clocks of the system. Rules (model/) never call these: they take times as
 * arguments.
 */
#ifndef FA_BASE_CLOCK_H
#define FA_BASE_CLOCK_H

#include <stdint.h>

int64_t fa_clock_now_us(void);  /* wall clock, microseconds since 1970 UTC */
int64_t fa_clock_mono_us(void); /* monotonic, for time-outs */
int64_t fa_clock_mono_ns(void); /* monotonic, for measuring */
int64_t fa_clock_boot_us(void); /* monotonic, and counts the time that the machine was suspended */

#endif
