import { expectPlant, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { message } from '../support/http-messages.js';
import { converse } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';

describe('A service with a base path', () => {
  const service = sharedService({ basePath: '/v1' });

  it.each([
    ['POST /v1/plants', undefined],
    ['POST /v1/%70lants', undefined],
    ['GET /v1/plants', 405],
    ['POST /v1/plants/', 404],
    ['POST /plants', 404],
  ])('answers %s with error %p', async (line, error) => {
    const isRead = error === undefined;
    const [answer] = await converse(
      service.port,
      message({ line: `${line} HTTP/1.1`, ...(!isRead && { framing: [], body: '' }) }),
    );

    if (isRead) expectPlant(answer, 1, KEEP_ALIVE);
    else expectRefusal(answer, error, KEEP_ALIVE);
  });

  it.each([
    ['GET /v1/plants', 'This path does not support this method: use POST.'],
    ['GET /elsewhere?a', 'There is no such path: use POST /v1/plants.'],
  ])('tells a client that sends %s what would be right', async (line, text) => {
    const [answer] = await converse(service.port, message({ line: `${line} HTTP/1.1` }));

    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ message: text });
  });
});
