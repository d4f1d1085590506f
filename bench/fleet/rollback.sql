-- What a rollback brought: of hosts that ran one version, then another, then the first again, what each of the three times
-- had: bytes allocated in an hour, and bytes live on the mean over the ends of windows, and the difference that the rollback
-- made, with half of its interval at 95 % over hosts (null of a single one). The last window of each time is left out, as
-- processes end in it. `samples` is a view of DIR/*/*/*.samples.parquet. For epoch_us see growth.sql.
WITH windows AS (
  SELECT service, host, version, window_start, max(epoch_us(window_end)) - max(epoch_us(window_start)) AS long_us,
         sum(alloc_bytes) AS alloc_bytes, sum(live_bytes) AS live_bytes
  FROM samples GROUP BY service, host, version, window_start
), changes AS (
  SELECT *, CASE WHEN version = lag(version) OVER (PARTITION BY service, host ORDER BY window_start) THEN 0 ELSE 1 END AS is_new,
         CASE WHEN version = lead(version) OVER (PARTITION BY service, host ORDER BY window_start) THEN 0 ELSE 1 END AS is_last
  FROM windows
), numbered AS (
  SELECT *, sum(is_new) OVER (PARTITION BY service, host ORDER BY window_start) AS turn FROM changes
), turns AS (
  SELECT service, host, turn, min(version) AS version, 3.6e9 * sum(alloc_bytes) / sum(long_us) AS alloc_an_hour,
         1e0 * sum(live_bytes) / count(*) AS live
  FROM numbered WHERE is_last = 0 GROUP BY service, host, turn
), backs AS (
  SELECT before.service AS service, before.host AS host, before.version AS good, during.version AS bad,
         before.alloc_an_hour AS alloc_before, during.alloc_an_hour AS alloc_during, after.alloc_an_hour AS alloc_after,
         before.live AS live_before, during.live AS live_during, after.live AS live_after
  FROM turns AS before
  JOIN turns AS during ON before.service = during.service AND before.host = during.host AND during.turn = before.turn + 1
  JOIN turns AS after ON before.service = after.service AND before.host = after.host AND after.turn = before.turn + 2
  WHERE before.version = after.version
), means AS (
  SELECT service, bad, good, count(*) AS hosts, avg(alloc_before) AS mean_alloc_before, avg(alloc_during) AS mean_alloc_during,
         avg(alloc_after) AS mean_alloc_after, avg(live_before) AS mean_live_before, avg(live_during) AS mean_live_during,
         avg(live_after) AS mean_live_after, avg(alloc_after - alloc_during) AS alloc_change,
         avg((alloc_after - alloc_during) * (alloc_after - alloc_during)) AS alloc_squares,
         avg(live_after - live_during) AS live_change,
         avg((live_after - live_during) * (live_after - live_during)) AS live_squares
  FROM backs GROUP BY service, bad, good
)
SELECT service, bad, good, hosts, floor(mean_alloc_before + 0.5) AS alloc_before, floor(mean_alloc_during + 0.5) AS alloc_during,
       floor(mean_alloc_after + 0.5) AS alloc_after, floor(alloc_change + 0.5) AS alloc_change,
       CASE WHEN hosts > 1 THEN floor(1.96 * sqrt(greatest(alloc_squares - alloc_change * alloc_change, 0) / greatest(hosts - 1, 1)) + 0.5)
       END AS alloc_plus_minus,
       floor(mean_live_before + 0.5) AS live_before, floor(mean_live_during + 0.5) AS live_during, floor(mean_live_after + 0.5) AS live_after,
       floor(live_change + 0.5) AS live_change,
       CASE WHEN hosts > 1 THEN floor(1.96 * sqrt(greatest(live_squares - live_change * live_change, 0) / greatest(hosts - 1, 1)) + 0.5)
       END AS live_plus_minus
FROM means ORDER BY abs(live_change) DESC, bad LIMIT 10
