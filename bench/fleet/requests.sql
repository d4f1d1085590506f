-- What a request costs, by build and stack: bytes that it allocates, and bytes by which what is live grows with it (from the
-- end of a host's first window to that of the last but one, over the requests between them; the last one is left out as a
-- process may have ended in it). `requests` is yours: how many a host served in a window, with the columns service, version,
-- host, window_start, requests. `samples` is a view of DIR/*/*/*.samples.parquet.
WITH windows AS (
  SELECT service, version, host, window_start, requests,
         row_number() OVER (PARTITION BY service, version, host ORDER BY window_start) AS place,
         row_number() OVER (PARTITION BY service, version, host ORDER BY window_start DESC) AS from_last
  FROM requests
), measured AS (
  SELECT * FROM windows WHERE from_last > 1
), served AS (
  SELECT service, version, sum(requests) AS all_requests, sum(CASE WHEN place > 1 THEN requests ELSE 0 END) AS after_first
  FROM measured GROUP BY service, version
), of_stack AS (
  SELECT samples.service AS service, samples.version AS version, stack, sum(alloc_bytes) AS alloc_bytes,
         sum(CASE WHEN from_last = 2 THEN live_bytes ELSE 0 END) - sum(CASE WHEN place = 1 THEN live_bytes ELSE 0 END) AS grown
  FROM samples JOIN measured
    ON samples.service = measured.service AND samples.version = measured.version
   AND samples.host = measured.host AND samples.window_start = measured.window_start
  GROUP BY samples.service, samples.version, stack
)
SELECT of_stack.service AS service, of_stack.version AS version, stack, all_requests AS requests,
       floor(1e3 * alloc_bytes / all_requests + 0.5) / 1e3 AS alloc_bytes_a_request,
       floor(1e3 * grown / after_first + 0.5) / 1e3 AS live_growth_a_request
FROM of_stack JOIN served ON of_stack.service = served.service AND of_stack.version = served.version
WHERE all_requests > 0 AND after_first > 0
ORDER BY live_growth_a_request DESC, alloc_bytes_a_request DESC, stack LIMIT 20
