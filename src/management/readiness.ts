import { Injectable } from '@nestjs/common';

/** Tells load balancers when the service stops taking requests. */
@Injectable()
export class Readiness {
  isShuttingDown = false;
}
