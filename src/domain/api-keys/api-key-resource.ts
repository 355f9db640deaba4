import type { ApiKey } from './api-key.ts';

/** An API key as every answer about it shows it (R7); neither half of a secret is in it. */
export function apiKeyResource(key: ApiKey) {
  return {
    keyId: key.keyId,
    name: key.name,
    scopes: key.scopes,
    environment: key.environment,
    enableHmac: key.enableHmac,
    ipAllowlist: key.ipAllowlist,
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
  };
}
