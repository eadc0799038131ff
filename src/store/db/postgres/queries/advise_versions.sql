-- One sentence for each version of nodes and workers that differs from $1.
SELECT format('%s faina %s, and this is %s: nodes of one fleet should have one version', who,
              version, $1::text)
FROM (SELECT format('the node that leads, %s, has', holder), version FROM leader
      WHERE until_us > clock_us()
      UNION ALL
      SELECT format('%s of the workers have', count(*)), version FROM worker
      WHERE version IS NOT NULL
      GROUP BY version) AS n (who, version)
WHERE version <> $1::text
