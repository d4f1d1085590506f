-- Which build of which service grows, by which stacks, over all hosts: bytes that an hour adds on a host, and half of the
-- interval that 95 of 100 such fleets lie in. Growth is the mean of the last quarter of a host's windows less that of the
-- third one, so that caches have time to fill; the very last window, in which a process may have ended, is left out.
-- `samples` is a view of DIR/*/*/*.samples.parquet. ClickHouse: toUnixTimestamp for epoch.
WITH windows AS (
  SELECT *, lead(window_start) OVER (PARTITION BY service, version, host ORDER BY window_start) AS next
  FROM (SELECT DISTINCT service, version, host, window_start FROM samples)
), quarters AS (
  SELECT *, ntile(4) OVER (PARTITION BY service, version, host ORDER BY window_start) AS quarter
  FROM windows WHERE next IS NOT NULL
), spans AS (
  SELECT service, version, host,
         sum(CASE WHEN quarter = 3 THEN 1 END) AS thirds, sum(CASE WHEN quarter = 4 THEN 1 END) AS fourths,
         (avg(CASE WHEN quarter = 4 THEN epoch(window_start) END)
          - avg(CASE WHEN quarter = 3 THEN epoch(window_start) END)) / 3600 AS hours
  FROM quarters GROUP BY service, version, host
), fleet AS (
  SELECT service, version, count(*) AS hosts FROM spans WHERE hours > 0 GROUP BY service, version
), of_host AS (
  SELECT service, version, host, stack,
         (sum(CASE WHEN quarter = 4 THEN live_bytes ELSE 0 END) / min(fourths)
          - sum(CASE WHEN quarter = 3 THEN live_bytes ELSE 0 END) / min(thirds)) / min(hours) AS growth
  FROM samples JOIN quarters USING (service, version, host, window_start) JOIN spans USING (service, version, host)
  WHERE hours > 0 GROUP BY service, version, host, stack
), grown AS (
  SELECT service, version, stack, min(hosts) AS hosts, sum(growth) / min(hosts) AS mean,
         greatest(sum(growth * growth) / min(hosts) - (sum(growth) / min(hosts)) * (sum(growth) / min(hosts)), 0) AS variance
  FROM of_host JOIN fleet USING (service, version) GROUP BY service, version, stack
)
SELECT service, version, stack, hosts, round(mean) AS bytes_an_hour,
       round(1.96 * sqrt(variance / greatest(hosts - 1, 1))) AS plus_minus
FROM grown WHERE mean > 1.96 * sqrt(variance / greatest(hosts - 1, 1))
ORDER BY mean DESC LIMIT 10
