import { parseConfiguration } from '../../src/config/configuration.js';

/** Returns the names of the environment variables that the configuration reads. */
export function variableNames(): string[] {
  const read = new Set<string>();
  parseConfiguration(new Proxy({}, { get: (_, name) => void read.add(String(name)) }));
  return [...read];
}
