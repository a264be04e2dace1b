import { removePostgresServer } from './store.js';

// jest.config.js runs this file for each spec file of the project `postgres`.
afterAll(removePostgresServer);
