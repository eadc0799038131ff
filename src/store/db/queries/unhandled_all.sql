-- Lanes with ready tasks that no live worker handles, and since when. A small table.
SELECT lane, since_us FROM unhandled
