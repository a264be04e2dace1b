import { Controller, Get, Header } from '@nestjs/common';

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Plant Store</title>
<h1>Plant Store</h1>
<ul>
<li><a href="docs">docs</a>: try POST /plants in the browser
<li><a href="openapi.json">openapi.json</a>: the contract, in OpenAPI 3.1
<li><a href="health/live">health/live</a>: the process responds
<li><a href="health/ready">health/ready</a>: the service accepts plants
<li><a href="metrics">metrics</a>: for Prometheus
</ul>
`;

/** Answers a browser with links to what the listener has. */
@Controller()
export class IndexController {
  @Get()
  @Header('Content-Type', 'text/html; charset=utf-8')
  read(): string {
    return PAGE;
  }
}
