import request from 'supertest';
import { type Service, startService, TOKEN } from './service.js';

describe('POST /plants', () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService();
  });

  afterEach(() => service.close());

  it('answers a valid NewPlant with 200 and the Plant', async () => {
    const response = await request(service.url)
      .post('/plants')
      .set('Authorization', `Bearer ${TOKEN}`)
      .send({ id: 1, name: 'Monstera', tag: 'indoor' });

    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toBe('application/json');
    expect(response.body).toEqual({ name: 'Monstera', tag: 'indoor' });
    expect(service.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: 'indoor' }]);
  });
});
