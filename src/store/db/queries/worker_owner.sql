-- The namespaces that a worker belongs to: those of the token that registered it; null: all.
-- Primary key.
SELECT namespaces FROM worker WHERE id = ?1
