import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ContractException } from './contract.exception.js';
import { logDefect } from './log-defect.js';
import { isErrorNumber } from './error-table.js';

/** Answers any exception with status 400 and `{error, message}`, as the contract requires. */
@Injectable()
@Catch()
export class ContractExceptionFilter implements ExceptionFilter {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const { httpAdapter } = this.adapterHost;
    const http = host.switchToHttp();
    const response = http.getResponse<unknown>();
    const exception = toContractException(thrown);
    if (exception.error === 500) logDefect(http.getRequest<{ readonly id?: unknown }>().id, thrown);
    if (httpAdapter.isHeadersSent(response)) return;
    for (const [name, value] of Object.entries(exception.headers)) httpAdapter.setHeader(response, name, value);
    httpAdapter.reply(response, exception.getResponse(), exception.getStatus());
  }
}

/** Keeps the status of other HTTP exceptions if the table has it, but not their text, which may name internals. */
function toContractException(thrown: unknown): ContractException {
  if (thrown instanceof ContractException) return thrown;
  const status = thrown instanceof HttpException ? thrown.getStatus() : 500;
  if (isErrorNumber(status)) return new ContractException(status);
  return status < 500
    ? new ContractException(400, `The request was refused with status ${status}.`)
    : new ContractException(500);
}
