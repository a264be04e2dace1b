import { All, Controller, Req } from '@nestjs/common';
import { ContractException } from '../contract/contract.exception.js';

/** The path of the operation, with that of {base_url}; the class is also the injection token. */
export abstract class OperationPath {
  abstract readonly path: string;
}

/**
 * Matches every path and method without a route, which Nest would answer before its guards: only holders of a token learn
 * which paths exist.
 */
@Controller()
export class NotFoundController {
  constructor(private readonly plants: OperationPath) {}

  @All('*')
  refuse(@Req() { url }: { readonly url: string }): never {
    // The URL is that of `toRouterPath`: it has no query, and all its escapes can be decoded, as the router does.
    if (decodeURI(url) === this.plants.path) throw new ContractException(405);
    throw new ContractException(404, `There is no such path: use POST ${this.plants.path}.`);
  }
}
