import process from 'node:process';
import config from '../../jest.config.js';

const [{ extensionsToTreatAsEsm, moduleNameMapper, transform }] = config.projects;

/** The unit specs. Stryker runs them in a copy of the project. */
export default {
  extensionsToTreatAsEsm,
  moduleNameMapper,
  transform,
  rootDir: process.cwd(),
  testMatch: ['<rootDir>/src/**/*.spec.ts'],
};
