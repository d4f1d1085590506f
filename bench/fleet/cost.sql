-- The stacks that allocate most, over all hosts: bytes of all windows, half of the interval that holds the true figure in
-- 95 of 100 samplings, on how many hosts, and which share of the service's bytes. `samples` is a view of
-- DIR/*/*/*.samples.parquet.
WITH of_service AS (
  SELECT service, 1e0 * sum(alloc_bytes) AS service_bytes FROM samples GROUP BY service
), of_stack AS (
  SELECT service, stack, sum(alloc_bytes) AS alloc_bytes, sum(alloc_objects) AS alloc_objects,
         sum(alloc_bytes_variance) AS variance, count(DISTINCT host) AS hosts
  FROM samples GROUP BY service, stack
)
SELECT of_stack.service AS service, stack, hosts, alloc_objects, alloc_bytes,
       floor(1.96 * sqrt(variance) + 0.5) AS plus_minus, floor(1e4 * alloc_bytes / service_bytes + 0.5) / 1e2 AS percent
FROM of_stack JOIN of_service ON of_stack.service = of_service.service
WHERE alloc_bytes > 0
ORDER BY alloc_bytes DESC, service, stack LIMIT 20
