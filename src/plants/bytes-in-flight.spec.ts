import { BytesInFlight } from './bytes-in-flight.js';

const MIB = 1_048_576;

describe('BytesInFlight', () => {
  it('has room for 64 MiB, and for others when some have left', () => {
    const bytes = new BytesInFlight({ bodyLimit: MIB });
    bytes.add(64 * MIB);

    expect(() => bytes.add(1)).toThrow(expect.objectContaining({ error: 503 }) as Error);
    bytes.remove(MIB);
    expect(() => bytes.add(MIB)).not.toThrow();
  });

  it('has room for one body of any limit', () => {
    expect(() => new BytesInFlight({ bodyLimit: 255 * MIB }).add(255 * MIB)).not.toThrow();
  });
});
