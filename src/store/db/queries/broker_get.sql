-- The broker's setting and counts. One row.
SELECT is_on, size_max, unroutable, dropped, publisher, until_us FROM broker
