-- Creates plants with new random ids, and prints the results as JSON.
-- Arguments: the token and a seed.
-- The script formats the requests itself, because wrk.format would cost more than sending them.

local head

function init(arguments)
  math.randomseed(tonumber(arguments[2]))
  head = "POST /plants HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port
    .. "\r\nAuthorization: Bearer " .. arguments[1]
    .. "\r\nContent-Type: application/json\r\nContent-Length: "
end

function request()
  -- Ids stay below 2^53, because the peers would round larger ones.
  local body = string.format('{"id":%d,"name":"Monstera deliciosa","tag":"indoor"}', math.random(1, 9007199254740991))
  return head .. #body .. "\r\n\r\n" .. body
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"seconds":%f,"answers":%d,"failures":%d,"p50":%f,"p99":%f}',
    summary.duration / 1e6, summary.requests,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
