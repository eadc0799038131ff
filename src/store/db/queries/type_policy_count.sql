-- How many types have policies. Reads all of type_policy.
SELECT count(*) FROM type_policy
