import { channel } from 'node:diagnostics_channel';
import { ANSWER_CHANNEL, type AnswerEvent } from '../http/message/answer-event.js';
import { BATCH_CHANNEL, type BatchEvent } from '../storage/batch-event.js';
import { Metrics } from './metrics.js';

const ANSWER: AnswerEvent = { requestId: 'an-id', statusCode: 200, address: '192.0.2.1' };

/** Returns an instant so many seconds from now. */
function inSeconds(seconds: number): Date {
  return new Date(Date.now() + seconds * 1_000);
}

/** Creates the metrics of a service whose times until an expiry are so many seconds, or missing. */
function createMetrics(seconds?: number): Metrics {
  const date = seconds === undefined ? undefined : inSeconds(seconds);
  return new Metrics('1.2.3', {
    queueDepth: () => seconds,
    certificateExpiry: () => date,
    tokenExpiry: () => date,
    tokenFileRead: () => date,
  });
}

/** Returns the value of a series in a text of Prometheus; undefined if it is missing. */
function valueOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}

function publish(...messages: AnswerEvent[]): void {
  for (const message of messages) channel(ANSWER_CHANNEL).publish(message);
}

describe('The metrics', () => {
  it('count answers by status and error, and refusals by reason', async () => {
    const { registry } = createMetrics();
    publish(ANSWER, { ...ANSWER, statusCode: 204 }, { ...ANSWER, statusCode: 400, error: 401, refusal: 'expired' });

    const text = await registry.metrics();
    expect(valueOf(text, 'plant_store_http_requests_total{status="200",error=""}')).toBe(1);
    expect(valueOf(text, 'plant_store_http_requests_total{status="204",error=""}')).toBe(1);
    expect(valueOf(text, 'plant_store_http_requests_total{status="400",error="401"}')).toBe(1);
    expect(valueOf(text, 'plant_store_http_requests_total{status="400",error="503"}')).toBe(0);
    expect(valueOf(text, 'plant_store_authentication_failures_total{reason="expired"}')).toBe(1);
    expect(valueOf(text, 'plant_store_authentication_failures_total{reason="missing"}')).toBe(0);
  });

  it('have the durations of requests in seconds, without input that is not HTTP', async () => {
    const { registry } = createMetrics();
    publish({ ...ANSWER, duration: 1_500 }, { ...ANSWER, duration: 2 }, { ...ANSWER, statusCode: 400, error: 400 });

    const text = await registry.metrics();
    expect(valueOf(text, 'plant_store_http_request_duration_seconds_count')).toBe(2);
    expect(valueOf(text, 'plant_store_http_request_duration_seconds_sum')).toBe(1.502);
    expect(valueOf(text, 'plant_store_http_request_duration_seconds_bucket{le="0.0025"}')).toBe(1);
    expect(valueOf(text, 'plant_store_http_request_duration_seconds_bucket{le="10"}')).toBe(2);
  });

  it('have the sizes, the outcomes and the times of batches', async () => {
    const { registry } = createMetrics();
    const batch: BatchEvent = { size: 9, created: 4, repeated: 3, conflict: 2, seconds: 0.25 };
    channel(BATCH_CHANNEL).publish(batch);
    channel(BATCH_CHANNEL).publish({ ...batch, size: 1_024 } satisfies BatchEvent);

    const text = await registry.metrics();
    expect(valueOf(text, 'plant_store_batch_size_plants_count')).toBe(2);
    expect(valueOf(text, 'plant_store_batch_size_plants_sum')).toBe(1_033);
    expect(valueOf(text, 'plant_store_batch_size_plants_bucket{le="1024"}')).toBe(2);
    expect(valueOf(text, 'plant_store_commit_duration_seconds_count')).toBe(2);
    expect(valueOf(text, 'plant_store_commit_duration_seconds_sum')).toBe(0.5);
    for (const [outcome, count] of Object.entries({ created: 8, repeated: 6, conflict: 4 })) {
      expect(valueOf(text, `plant_store_plants_total{outcome="${outcome}"}`)).toBe(count);
    }
  });

  it('have gauges in seconds, and leave out those without a value', async () => {
    const began = Date.now() / 1_000;
    const text = await createMetrics(90).registry.metrics();
    const without = await createMetrics().registry.metrics();

    expect(valueOf(text, 'plant_store_queue_depth_plants')).toBe(90);
    for (const what of ['certificate', 'token']) {
      const left = valueOf(text, `plant_store_${what}_expiry_seconds`);
      expect(left).toBeGreaterThan(60);
      expect(left).toBeLessThanOrEqual(90);
      expect(valueOf(without, `plant_store_${what}_expiry_seconds`)).toBeUndefined();
    }
    const READ = 'plant_store_token_file_read_timestamp_seconds';
    expect(valueOf(text, READ)).toBeGreaterThan(began + 89);
    expect(valueOf(text, READ)).toBeLessThan(began + 120);
    expect(valueOf(without, READ)).toBeUndefined();
  });

  it('tell that a time has passed by a negative value', async () => {
    const text = await createMetrics(-90).registry.metrics();

    expect(valueOf(text, 'plant_store_certificate_expiry_seconds')).toBeLessThanOrEqual(-90);
  });

  it('have those of Node.js, without those that the guide does not name', async () => {
    const text = await createMetrics().registry.metrics();

    expect(text).toMatch(/^nodejs_active_resources\{/m);
    expect(text).toMatch(/^process_open_fds /m);
    expect(text).not.toMatch(/^nodejs_active_(?:handles|requests|resources_total)/m);
  });
});
