-- The number of entries of the audit and the hash of the last one, for a copy. One row.
SELECT only_row, count, hash FROM audit_head
