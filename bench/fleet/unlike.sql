-- Hosts that behave unlike the others of their build: bytes that a host allocates in an hour, and holds at the ends of its
-- windows on the mean, against the median of the hosts. Named are those further from it than five times the deviation that
-- half of them have (and a tenth of the median), where a build has at least five hosts. `samples` is a view of
-- DIR/*/*/*.samples.parquet. For epoch_us see growth.sql.
WITH windows AS (
  SELECT service, version, host, window_start, max(epoch_us(window_end)) - max(epoch_us(window_start)) AS long_us,
         sum(alloc_bytes) AS alloc_bytes, sum(live_bytes) AS live_bytes
  FROM samples GROUP BY service, version, host, window_start
), hosts AS (
  SELECT service, version, host, 3.6e9 * sum(alloc_bytes) / sum(long_us) AS alloc_an_hour,
         1e0 * sum(live_bytes) / count(*) AS live
  FROM windows GROUP BY service, version, host
), figures AS (
  SELECT service, version, host, 'allocated in an hour' AS figure, alloc_an_hour AS bytes FROM hosts
  UNION ALL
  SELECT service, version, host, 'live' AS figure, live AS bytes FROM hosts
), placed AS (
  SELECT *, row_number() OVER (PARTITION BY service, version, figure ORDER BY bytes, host) AS place,
         count(*) OVER (PARTITION BY service, version, figure) AS of_all
  FROM figures
), medians AS (
  SELECT service, version, figure, avg(bytes) AS median FROM placed
  WHERE 2 * place >= of_all AND 2 * place <= of_all + 2 GROUP BY service, version, figure
), apart AS (
  SELECT placed.service AS service, placed.version AS version, placed.figure AS figure, host, bytes, median, of_all,
         abs(bytes - median) AS distance
  FROM placed JOIN medians
    ON placed.service = medians.service AND placed.version = medians.version AND placed.figure = medians.figure
), apart_placed AS (
  SELECT *, row_number() OVER (PARTITION BY service, version, figure ORDER BY distance, host) AS distance_place FROM apart
), deviations AS (
  SELECT service, version, figure, avg(distance) AS deviation FROM apart_placed
  WHERE 2 * distance_place >= of_all AND 2 * distance_place <= of_all + 2 GROUP BY service, version, figure
)
SELECT apart.service AS service, apart.version AS version, apart.host AS host, apart.figure AS figure,
       floor(bytes + 0.5) AS bytes, floor(median + 0.5) AS median_of_hosts, of_all AS hosts
FROM apart JOIN deviations
  ON apart.service = deviations.service AND apart.version = deviations.version AND apart.figure = deviations.figure
WHERE of_all >= 5 AND distance > 5 * 1.4826 * deviation AND distance > 0.1 * median
ORDER BY distance / median DESC, host, figure LIMIT 20
