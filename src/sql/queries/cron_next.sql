-- When the next schedule is due. The first entry of index cron_next.
SELECT min(next_us) FROM cron WHERE next_us IS NOT NULL
