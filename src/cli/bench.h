/*
 * bench.h - `faina bench`: how fast the engine is, against raw SQLite, in one run.
 */
#ifndef FA_BENCH_H
#define FA_BENCH_H

/* Runs the benchmark with the arguments after the verb; returns the exit code. */
int fa_bench_run(int argc, char **argv);

#endif
