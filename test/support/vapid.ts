/** A VAPID key pair for tests. */
export const TEST_VAPID = {
  publicKey: 'BGS8R3OomfWzr7-iDj_OtnPBLgQPIGSU2n3PkLbN_kMrG7r4Xa94UvCTeFkeHoXaQWAHS0ns4AmTtkp1c-ZnnaQ',
  privateKey: 'vLCv0Ll17yZJhznorVorg8b7NGzE_jVcK2SKdAPfJmc',
};
