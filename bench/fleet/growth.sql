-- Which build of which service grows, by which stacks, over all hosts: bytes that an hour adds on a host, and half of the
-- interval that 95 of 100 such fleets lie in. Growth is the mean of the last quarter of a host's windows less that of the
-- third one, so that caches have time to fill; the very last window, in which a process may have ended, is left out.
-- `samples` is a view of DIR/*/*/*.samples.parquet. For epoch_us of DuckDB, ClickHouse has toUnixTimestamp64Micro, DataFusion
-- CAST(window_start AS BIGINT), and Spark unix_micros.
WITH windows AS (
  SELECT service, version, host, window_start, epoch_us(window_start) AS began_us,
         row_number() OVER (PARTITION BY service, version, host ORDER BY window_start DESC) AS from_last
  FROM (SELECT DISTINCT service, version, host, window_start FROM samples) AS each
), quarters AS (
  SELECT *, ntile(4) OVER (PARTITION BY service, version, host ORDER BY window_start) AS quarter,
         (began_us - min(began_us) OVER (PARTITION BY service, version, host)) / 3.6e9 AS begins_h
  FROM windows WHERE from_last > 1
), spans AS (
  SELECT service, version, host,
         sum(CASE WHEN quarter = 3 THEN 1 END) AS thirds, sum(CASE WHEN quarter = 4 THEN 1 END) AS fourths,
         avg(CASE WHEN quarter = 4 THEN begins_h END) - avg(CASE WHEN quarter = 3 THEN begins_h END) AS hours
  FROM quarters GROUP BY service, version, host
), fleet AS (
  SELECT service, version, count(*) AS of_all FROM spans WHERE hours > 0 GROUP BY service, version
), measured AS (
  SELECT * FROM quarters JOIN spans USING (service, version, host) WHERE hours > 0
), of_host AS (
  SELECT service, version, host, stack,
         (sum(CASE WHEN quarter = 4 THEN 1.0 * live_bytes ELSE 0 END) / min(fourths)
          - sum(CASE WHEN quarter = 3 THEN 1.0 * live_bytes ELSE 0 END) / min(thirds)) / min(hours) AS growth
  FROM samples JOIN measured USING (service, version, host, window_start) GROUP BY service, version, host, stack
), grown AS (
  SELECT service, version, stack, min(of_all) AS hosts, sum(growth) / min(of_all) AS mean,
         sum(growth * growth) / min(of_all) AS mean_of_squares
  FROM of_host JOIN fleet USING (service, version) GROUP BY service, version, stack
), judged AS (
  SELECT *, 1.96 * sqrt(greatest(mean_of_squares - mean * mean, 0) / greatest(hosts - 1, 1)) AS interval_95 FROM grown
)
SELECT service, version, stack, hosts, round(mean) AS bytes_an_hour,
       CASE WHEN hosts > 1 THEN round(interval_95) END AS plus_minus
FROM judged WHERE mean > interval_95
ORDER BY mean DESC LIMIT 10
