import { Injectable } from '@nestjs/common';
import { Metrics } from './metrics.js';

/** The next expiry of what an operator has to renew; the class is also the injection token. */
export abstract class Expiries {
  /** Returns when the certificate of the public port expires, if it has one. */
  abstract certificate(): Date | undefined;
  /** Returns when the next static token expires, if one does. */
  abstract token(): Date | undefined;
}

/** Adds to the metrics what a service has once, however many processes serve it. */
@Injectable()
export class ServiceGauges {
  constructor(metrics: Metrics, expiries: Expiries) {
    metrics.addGauge('plant_store_certificate_expiry_seconds', 'Time until the certificate expires.', () =>
      secondsUntil(expiries.certificate()),
    );
    metrics.addGauge('plant_store_token_expiry_seconds', 'Time until the next static token expires.', () =>
      secondsUntil(expiries.token()),
    );
  }
}

function secondsUntil(instant: Date | undefined): number | undefined {
  return instant && (instant.getTime() - Date.now()) / 1_000;
}
