-- Fails with a serialization failure when the setting has another value.
SELECT broker_check($1::bigint)
