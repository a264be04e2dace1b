/** node:http, JSON.parse and JSON.stringify without authentication, validation, store and log: for orientation. */
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { name, tag } = JSON.parse(Buffer.concat(chunks).toString());
    const body = JSON.stringify({ name, tag });
    response
      .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
      .end(body);
  });
});
server.listen(0, '127.0.0.1', () => console.log(`Listening: http://127.0.0.1:${server.address().port}`));
