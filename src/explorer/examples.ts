const DAY_MS = 86_400_000;

interface Example {
  readonly name: string;
  readonly query: string;
  readonly variables?: () => object;
}

/** Example documents: what a dashboard queries, and how it follows changes. A test runs each of them. */
export const EXAMPLES: readonly Example[] = [
  {
    name: 'Who am I?',
    query: `query WhoAmI {
  viewer { id email role }
  account { id name balanceMoney { amount currency } }
}`,
  },
  {
    name: 'Newest messages',
    query: `query NewestMessages($after: String) {
  messages(first: 20, after: $after) {
    totalCount
    nodes { id channel status to costMoney { amount currency } createdAt }
    pageInfo { hasNextPage endCursor }
  }
}`,
  },
  {
    name: 'What failed, and why',
    query: `query Failed {
  messages(first: 20, filter: { status: FAILED }) {
    nodes { id channel createdAt recipients { to status error { code message } } }
  }
}`,
  },
  {
    name: 'One message with its timeline',
    query: `query OneMessage {
  messages(first: 1) {
    nodes {
      id status content
      recipients { to status sid }
      timeline { at status detail }
      deliveries { id event status attempts }
    }
  }
}`,
  },
  {
    name: 'Usage by status',
    query: `query UsageByStatus($from: DateTime!, $to: DateTime!) {
  usage(from: $from, to: $to, interval: DAY, groupBy: [STATUS]) { at status messages costMoney { amount currency } }
}`,
    variables: () => ({
      from: new Date(Date.now() - 7 * DAY_MS).toISOString(),
      to: new Date().toISOString(),
    }),
  },
  {
    name: 'Webhooks and their health',
    query: `query WebhookHealth {
  webhooks { id url isActive disabledReason stats { pending succeeded failed } }
}`,
  },
  {
    name: 'Deliveries that failed',
    query: `query FailedDeliveries {
  webhookDeliveries(first: 20, filter: { status: FAILED }) {
    nodes { id event httpStatus attempts errorMessage createdAt }
  }
}`,
  },
  {
    name: 'Charges, refunds and top-ups',
    query: `query Ledger {
  ledger(first: 20) {
    nodes { seq kind amountMoney { amount currency } messageId createdAt }
    pageInfo { hasNextPage endCursor }
  }
}`,
  },
  {
    name: 'Keys and their last use',
    query: `query Keys {
  apiKeys { keyId name scopes environment createdAt lastUsedAt expiresAt revokedAt }
}`,
  },
  {
    name: 'Watch messages change',
    query: `subscription Watch {
  messageUpdated { id status recipients { to status } }
}`,
  },
];
