import { closeApplication, createApplication } from './app.module.js';

describe('The application', () => {
  it('rejects when its store cannot close, so that the service does not end with status 0', async () => {
    const app = await createApplication({
      basePath: '',
      plants: {
        repository: {
          add: () => Promise.resolve([]),
          close: () => Promise.reject(new Error('the store is still open')),
        },
        authentication: { tokens: ['a-token'] },
      },
      http: { certificate: undefined },
      logger: { log: () => undefined, error: () => undefined, warn: () => undefined },
    });
    await app.init();

    await expect(closeApplication(app)).rejects.toThrow('the store is still open');
  });
});
