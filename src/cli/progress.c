/*
 * progress.c - a progress bar on stderr.
 *
 *     Cancelling  ██████████░░░░░░░░░░  52 %  5,210 of 10,000  18,400/s  0.3 s left
 */
#include "cli/progress.h"

#include "base/clock.h"
#include "cli/text.h"
#include "model/times.h"

#define BAR_WIDTH 20
#define REDRAW_US 100000

void fa_progress_start(struct fa_progress *progress, struct fa_cli *cli, const char *label,
                       int64_t total)
{
    *progress = (struct fa_progress){
        .cli = cli, .label = label, .total = total, .start_us = fa_clock_mono_us()};
}

double fa_progress_seconds(const struct fa_progress *progress)
{
    return (double)(fa_clock_mono_us() - progress->start_us + 1) / 1e6;
}

static void draw_bar(struct fa_buf *line, int64_t done, int64_t total)
{
    int full = (int)((double)done / (double)total * BAR_WIDTH);

    for (int i = 0; i < BAR_WIDTH; i++)
        fa_buf_add_str(line, i < full ? "█" : "░");
    fa_buf_printf(line, "  %d %%", (int)((double)done * 100 / (double)total));
}

void fa_progress_show(struct fa_progress *progress, int64_t done)
{
    int64_t now_us = fa_clock_mono_us();
    double rate = (double)done / fa_progress_seconds(progress);
    char count[FA_TEXT_COUNT_SIZE], total[FA_TEXT_COUNT_SIZE], left[FA_TIME_SIZE];
    struct fa_arena scratch = {0};
    struct fa_buf line;

    if (!progress->cli->err_is_tty || now_us - progress->shown_us < REDRAW_US)
        return;
    progress->shown_us = now_us;
    progress->is_shown = true;
    fa_buf_init(&line, 1024);
    fa_buf_printf(&line, "%s  ", progress->label);
    if (progress->total > 0) {
        if (done > progress->total)
            done = progress->total;
        draw_bar(&line, done, progress->total);
        fa_buf_printf(&line, "  %s of %s", fa_text_count(done, count),
                      fa_text_count(progress->total, total));
    } else {
        fa_buf_printf(&line, "%s", fa_text_count(done, count));
    }
    fa_buf_printf(&line, "  %s/s", fa_text_count((int64_t)rate, count));
    if (progress->total > 0 && rate > 0) {
        fa_duration_format((int64_t)((double)(progress->total - done) / rate * 1e6), left);
        fa_buf_printf(&line, "  %s left", left);
    }
    fprintf(stderr, "\r\033[K%s", fa_text_clip(&scratch, line.ptr, progress->cli->width - 1));
    fflush(stderr);
    fa_buf_finish(&line);
    fa_arena_finish(&scratch);
}

void fa_progress_stop(struct fa_progress *progress)
{
    if (progress->is_shown)
        fputs("\r\033[K", stderr);
    progress->is_shown = false;
}
