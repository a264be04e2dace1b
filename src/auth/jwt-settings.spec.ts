import { assertJwtSettings, type JwtSettings } from './jwt-settings.js';

const VALID: JwtSettings = { issuer: 'https://login.example.com', audience: 'plants' };

describe('The settings of a JwtVerifier', () => {
  it.each<Partial<JwtSettings>>([
    {},
    { issuer: 'http://localhost:8080/realms/plants' },
    { issuer: 'http://127.0.0.1' },
    { jwksUrl: new URL('https://login.example.com/jwks') },
    { jwksUrl: new URL('http://[::1]/jwks') },
    { type: 'JWT' },
    { type: 'at+jwt' },
  ])('may be %j', (changes) => expect(() => assertJwtSettings({ ...VALID, ...changes })).not.toThrow());

  it.each<[changes: object, name: string]>([
    [{ issuer: 'http://login.example.com' }, 'issuer'],
    [{ issuer: 'login.example.com' }, 'issuer'],
    [{ issuer: undefined }, 'issuer'],
    [{ audience: '' }, 'audience'],
    [{ audience: ['plants'] }, 'audience'],
    [{ jwksUrl: 'https://login.example.com/jwks' }, 'jwksUrl'],
    [{ jwksUrl: new URL('http://login.example.com/jwks') }, 'jwksUrl'],
    [{ type: 'jwt' }, 'type'],
    [{ type: null }, 'type'],
  ])('must not be %j', (changes, name) => {
    expect(() => assertJwtSettings({ ...VALID, ...changes })).toThrow(
      new RegExp(`^JwtVerifier: ${name} must be [^\\n]+$`),
    );
  });
});
