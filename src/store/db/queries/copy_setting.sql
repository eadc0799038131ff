-- All settings.
SELECT name, value FROM setting
