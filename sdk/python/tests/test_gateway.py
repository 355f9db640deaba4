"""Tests the SDK with a real gateway. test/sdk/python.test.ts starts it and passes its URL in the environment."""

import base64
import contextlib
import datetime
import http.server
import json
import os
import socket
import struct
import threading
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor

import messaging_gateway as sdk
from messaging_gateway._retries import delay_before
from messaging_gateway._signing import RequestSigner

URL = os.environ["GATEWAY_URL"]
LOSSY_URL = os.environ["LOSSY_URL"]
KEY = os.environ["GATEWAY_API_KEY"]
SANDBOX_KEY = os.environ["SANDBOX_KEY"]
SIGNED_KEY = os.environ["SIGNED_KEY"]
SIGNING_SECRET = os.environ["SIGNING_SECRET"]
POOR_KEY = os.environ["POOR_KEY"]
BULK_KEY = os.environ["BULK_KEY"]
CORPUS = os.environ["CORPUS"]
SUCCEEDED = os.environ["SUCCEEDED"]
ABSENT_ID = "019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d3"
DONE = set()


def remember(tried):
    if tried.status_code is not None and tried.status_code < 300:
        DONE.add(f"{tried.method} {tried.path}")


def tearDownModule():
    # test/sdk/python.test.ts checks that every operation of the gateway is in this list.
    with open(SUCCEEDED, "w", encoding="utf-8") as file:
        json.dump(sorted(DONE), file)


def client(key=KEY, **options):
    return sdk.Gateway(key, URL, on_try=remember, **options)


class Receiver:
    """A real HTTP server that responds as ``answer`` says, and records the requests."""

    def __init__(self, answer):
        received = self.received = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                received.append((self.path, dict(self.headers), body))
                answer(self, len(received))

            do_GET = do_POST = do_DELETE = do_PUT = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def answer_with(status, body, **headers):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()

    def answer(handler):
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)

    return answer


def refusal(code):
    return {"error": {"code": code, "message": "No."}}


def reset(handler):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


@contextlib.contextmanager
def answering(*answers):
    """Starts a server that gives the answers in order and repeats the last one, and a client with very short delays."""
    receiver = Receiver(lambda handler, count: answers[min(count, len(answers)) - 1](handler))
    try:
        yield receiver, lambda **options: sdk.Gateway(
            "msg_x", receiver.url, **{"retry_delay_seconds": 0.001, **options}
        )
    finally:
        receiver.close()


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Operations(unittest.TestCase):
    def test_sends_an_sms_and_finds_it_again(self):
        gateway = client()
        to = gateway.testing.numbers.delivered
        self.assertEqual(gateway.sms.quote(to=to, message="Hello")["cost"], 30)
        before = gateway.account.get()["balance"]
        sent = gateway.sms.send(to=to, message="é 😀", from_="ACME")
        self.assertEqual((sent["status"], sent["from"], sent["content"]), ("pending", "ACME", "é 😀"))
        settled = gateway.testing.settled(sent["id"])
        self.assertEqual(settled["status"], "delivered")
        self.assertEqual(gateway.sms.get(sent["id"])["id"], sent["id"])
        self.assertEqual(gateway.messages.get(sent["id"]), settled)
        self.assertEqual(gateway.account.get()["balance"], before - 30)
        with self.assertRaisesRegex(TimeoutError, "is still"):
            unreported = gateway.sms.send(to=gateway.testing.numbers.unreported, message="Hello")
            gateway.testing.settled(unreported["id"], timeout_seconds=0)

    def test_cancels_a_scheduled_message(self):
        gateway = client()
        later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        sent = gateway.sms.send(to="0700123456", message="Later", scheduled_for=later)
        self.assertEqual(gateway.messages.cancel(sent["id"])["status"], "failed")
        with self.assertRaisesRegex(ValueError, "time zone"):
            gateway.sms.send(to="0700123456", message="Later", scheduled_for=later.replace(tzinfo=None))

    def test_sends_on_the_other_channels(self):
        gateway, sandbox = client(), client(SANDBOX_KEY)
        sent = sandbox.email.send(to=["ann@example.com"], subject="Hi", text="Hello", reply_to="b@example.com")
        self.assertEqual((sent["channel"], sent["sandbox"]), ("email", True))
        device = gateway.push.devices.register(token="token", platform="android", user_id="u")
        self.assertEqual(gateway.push.devices.get(device["id"]), device)
        self.assertEqual(gateway.push.devices.list().page()["data"], [device])
        self.assertEqual(gateway.push.send(to="u", title="Hi", body="Hello", ttl_seconds=60)["title"], "Hi")
        self.assertTrue(gateway.push.web_key()["publicKey"])
        self.assertEqual(gateway.push.devices.delete(device["id"]), {"id": device["id"], "deleted": True})
        template = {"name": "order_shipped", "language": "en"}
        sent = gateway.whatsapp.send(to="+256700123456", type="template", template=template)
        self.assertEqual(sent["type"], "template")
        self.assertFalse(gateway.whatsapp.window(to="+256700123456")["open"])
        for history in (sandbox.email, gateway.push, gateway.whatsapp):
            self.assertEqual(history.history().page()["pagination"]["total"], 1)

    def test_keeps_contacts(self):
        gateway = client()
        contact = gateway.contacts.create(name="Amina", external_id="p-1")
        changed = gateway.contacts.update(contact["id"], name=None, tags=["north"])
        self.assertEqual((changed["name"], changed["tags"], changed["externalId"]), (None, ["north"], "p-1"))
        self.assertEqual(gateway.contacts.list(tag="north").page()["data"], [gateway.contacts.get(contact["id"])])
        with self.assertRaises(sdk.ConflictError) as caught:
            gateway.contacts.create(external_id="p-1")
        self.assertEqual(caught.exception.details["id"], contact["id"])
        gateway.contacts.delete(contact["id"])
        with self.assertRaises(sdk.NotFoundError):
            gateway.contacts.get(contact["id"])

    def test_suppresses_an_address(self):
        gateway = client()
        added = gateway.suppressions.add(channel="sms", address="0700000999", scope="all")["suppression"]
        self.assertEqual([one["id"] for one in gateway.suppressions.list(channel="sms")], [added["id"]])
        part = gateway.suppressions.export_csv()
        self.assertIsNone(part["nextAfter"])
        self.assertTrue(gateway.suppressions.remove(added["id"])["deleted"])
        imported = gateway.suppressions.import_csv(csv=part["csv"])
        self.assertEqual(imported, {"rows": 1, "changed": 1, "unchanged": 0})

    def test_lists_messages_that_are_held(self):
        self.assertEqual(client().messages.held(), {"held": []})

    def test_exports_and_erases_a_person(self):
        gateway = client()
        contact = gateway.contacts.create(phone="+256700111222", name="Jane")
        part = gateway.recipients.export_part("+256700111222")
        self.assertEqual([one["id"] for one in part["recipient"]["contacts"]], [contact["id"]])
        erasure = gateway.recipients.erase("+256700111222", reason="asked by letter")["erasure"]
        self.assertIn(erasure["id"], [one["id"] for one in gateway.erasures.list()])
        self.assertEqual(gateway.erasures.get(erasure["id"])["erasure"]["reason"], "asked by letter")

    def test_changes_when_an_alert_opens(self):
        gateway = client()
        self.assertEqual(list(gateway.alerts.list(state="open")), [])
        changed = gateway.alerts.set_rule(kind="balance_low", threshold=5, mail_to=[])["rule"]
        self.assertEqual((changed["kind"], changed["threshold"], changed["mailTo"]), ("balance_low", 5, []))
        self.assertIn(changed, gateway.alerts.rules()["rules"])
        given_back = gateway.alerts.set_rule(kind="balance_low", threshold=None, mail_to=None)["rule"]
        self.assertEqual(given_back["threshold"], given_back["defaultThreshold"])

    def test_asks_for_a_sender_verifies_it_and_gives_it_up(self):
        gateway = client()
        asked = gateway.senders.request(channel="email", domain="python.example")["sender"]
        self.assertEqual([one["id"] for one in gateway.senders.list(channel="email")], [asked["id"]])
        self.assertEqual(gateway.senders.get(asked["id"])["sender"]["domain"], "python.example")
        self.assertTrue(gateway.senders.remove(asked["id"])["deleted"])
        # The sandbox asks no name server.
        key = gateway.keys.create(name="senders", scopes=["MANAGE_SENDERS"], environment="sandbox")["key"]
        sandbox = client(key)
        trial = sandbox.senders.request(channel="email", domain="python.example")["sender"]
        self.assertEqual(sandbox.senders.verify(trial["id"])["sender"]["status"], "approved")

    def test_makes_changes_rotates_and_revokes_keys(self):
        gateway = client()
        made = gateway.keys.create(name="shop", scopes=["SEND_SMS"], environment="sandbox")
        key_id = made["apiKey"]["keyId"]
        self.assertEqual(client(made["key"]).account.get()["currency"], "UGX")
        self.assertEqual(gateway.keys.update(key_id, name="store")["apiKey"]["name"], "store")
        limits = gateway.keys.set_limits(key_id, spend_per_day=500, allowed_prefixes=["256"])["limits"]
        self.assertEqual((limits["keyId"], limits["spendPerDay"]), (key_id, 500))
        self.assertEqual(client(made["key"]).account.limits()["limits"], [limits])
        of_account = gateway.account.set_limits(recipients_per_day=100_000)["limits"]
        self.assertEqual((of_account["of"], of_account["recipientsPerDay"]), ("account", 100_000))
        rotated = gateway.keys.rotate(key_id, overlap_seconds=0)
        revoked = gateway.keys.revoke(rotated["apiKey"]["keyId"], descendants="true")
        self.assertIsNotNone(revoked["apiKey"]["revokedAt"])
        self.assertIn(key_id, [key["keyId"] for key in gateway.keys.list()])

    def test_registers_an_endpoint_and_verifies_what_it_is_sent(self):
        gateway = client()
        receiver = Receiver(lambda handler, _: answer_with(200, {})(handler))
        self.addCleanup(receiver.close)
        made = gateway.webhooks.register(url=f"{receiver.url}/hook", events=["sms.sent"], max_retries=1)
        webhook_id = made["webhook"]["id"]
        self.assertTrue(gateway.webhooks.test(webhook_id)["success"])
        _, headers, body = receiver.received[0]
        event = gateway.webhooks.verify(body, headers, made["secret"])
        self.assertEqual((event["event"], event["deliveryId"]), ("webhook.test", headers["X-Service-Delivery"]))
        deliveries = list(gateway.webhooks.deliveries(webhook_id, status="success"))
        delivery_id = deliveries[0]["id"]
        self.assertEqual(delivery_id, event["deliveryId"])
        self.assertEqual(gateway.webhooks.delivery(webhook_id, delivery_id)["delivery"], deliveries[0])
        self.assertEqual(gateway.webhooks.retry(webhook_id, delivery_id)["delivery"]["id"], delivery_id)
        self.assertGreaterEqual(gateway.webhooks.recover(webhook_id, since="2026-01-01T00:00:00Z")["queued"], 0)
        self.assertFalse(gateway.webhooks.update(webhook_id, is_active=False)["webhook"]["isActive"])
        self.assertEqual(gateway.webhooks.get(webhook_id)["webhook"]["id"], webhook_id)
        self.assertNotEqual(gateway.webhooks.rotate_secret(webhook_id)["secret"], made["secret"])
        self.assertIn(webhook_id, [each["id"] for each in gateway.webhooks.list()])
        self.assertIn("sms.failed", [each["event"] for each in gateway.webhooks.event_types()])
        self.assertEqual(gateway.webhooks.delete(webhook_id), {"id": webhook_id, "deleted": True})

    def test_follows_the_feed_from_a_cursor(self):
        gateway = client()
        after = gateway.events.list(after="latest")["cursor"]
        sent = gateway.sms.send(to="0700123456", message="Followed")
        for event, cursor in gateway.events.follow(after, poll_interval_seconds=0.01):
            if event.get("messageId") == sent["id"]:
                break
        self.assertEqual(event["event"], "sms.sent")
        self.assertGreater(int(cursor), int(after))
        oldest = next(gateway.events.follow())
        self.assertIn("event", oldest.event)

    def test_walks_over_all_entries_each_once(self):
        gateway = client(BULK_KEY)
        first = [gateway.sms.send(to="0700123456", message="Walk")["id"] for _ in range(7)]
        walked = []
        for entry in gateway.sms.history(limit=3):
            walked.append(entry["id"])
            if len(walked) % 3 == 0:
                gateway.sms.send(to="0700123456", message="Meanwhile")
        self.assertEqual(sorted(walked), sorted(first))
        self.assertEqual(gateway.sms.history(limit=3, page=2).page()["pagination"]["page"], 2)

    def test_signs_requests_also_equal_ones_in_the_same_second(self):
        signed = [client(SIGNED_KEY, signing_secret=SIGNING_SECRET) for _ in range(3)]
        with ThreadPoolExecutor(6) as pool:
            accounts = list(pool.map(lambda at: signed[at % 3].account.get()["id"], range(12)))
        self.assertEqual(len(set(accounts)), 1)
        signed[0].sms.send(to="0700123456", message="é 😀")
        self.assertEqual(signed[0].sms.history(limit=1, to="0700 123456").page()["pagination"]["page"], 1)
        with self.assertRaises(sdk.NotFoundError):
            signed[0].contacts.get("a/b ä")

    def test_takes_key_and_address_from_the_environment(self):
        with unittest.mock.patch.dict(os.environ, {"GATEWAY_API_KEY": KEY, "GATEWAY_URL": URL}):
            self.assertEqual(sdk.Gateway().account.get()["currency"], "UGX")
            with self.assertRaises(sdk.AccessError):
                sdk.Gateway("k").account.get()
            with self.assertRaisesRegex(ValueError, "or set GATEWAY_API_KEY"):
                sdk.Gateway("")
            del os.environ["GATEWAY_URL"]
            with self.assertRaisesRegex(ValueError, "or set GATEWAY_URL"):
                sdk.Gateway()

    def test_says_what_is_missing_and_keeps_the_key_to_itself(self):
        for key, url, message in [
            ("", URL, "api_key is missing"),
            ("k", "", "base_url is missing"),
            ("k", "localhost", "is no address"),
            ("k", "ftp://x", "is no address"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                sdk.Gateway(key, url)
        for identifier in ("", ".", ".."):
            with self.assertRaisesRegex(ValueError, "names nothing"):
                client().contacts.get(identifier)
        self.assertNotIn(KEY, repr(client()))
        self.assertEqual(
            sdk.Gateway("k", "https://x.example/sms/").testing.webhook_url(),
            "https://x.example/sms/simulator/webhook/sdk",
        )
        self.assertEqual(client().with_options(timeout_seconds=5.0).account.get()["currency"], "UGX")


class Errors(unittest.TestCase):
    def test_say_what_to_do_next(self):
        gateway = client()
        cases = [
            (sdk.BalanceError, "insufficient_balance", lambda: client(POOR_KEY).sms.send(to="0700123456", message="x")),
            (sdk.InvalidRequestError, "invalid_phone_number", lambda: gateway.sms.send(to="12", message="x")),
            (sdk.InvalidRequestError, "validation_error", lambda: gateway.contacts.create(name="Nobody")),
            (sdk.NotFoundError, "not_found", lambda: gateway.messages.get(ABSENT_ID)),
            (sdk.AccessError, "unauthorized", lambda: client("msg_x").account.get()),
        ]
        for kind, code, call in cases:
            with self.subTest(code), self.assertRaises(kind) as caught:
                call()
            self.assertEqual((caught.exception.code, caught.exception.attempts), (code, 1))
        self.assertRegex(caught.exception.request_id, "^[0-9a-f-]{36}$")

    def test_of_the_network_are_made_here_with_their_cause(self):
        tries = []
        nobody = sdk.Gateway(
            "msg_x", f"http://127.0.0.1:{free_port()}", retry_delay_seconds=0.001, on_try=tries.append
        )
        with self.assertRaises(sdk.UncertainError) as caught:
            nobody.webhooks.register(url="https://x.example", events=[])
        error = caught.exception
        self.assertEqual((error.code, error.status_code, error.attempts), ("network_error", None, 4))
        self.assertIn("refused", error.message)
        self.assertIsNotNone(error.__cause__)
        self.assertEqual([tried.attempt for tried in tries], [1, 2, 3, 4])

    def test_name_answers_that_are_not_the_gateways(self):
        page = answer_with(404, b"<h1>Nothing here</h1>", Content_Type="text/html")
        with answering(page, answer_with(301, b"", Location="https://x.example/"), answer_with(200, b"<h1>")) as (_, make):
            for status, words in [(404, "base_url is wrong"), (301, "It leads to https://x.example/"), (200, "")]:
                with self.assertRaises(sdk.GatewayError) as caught:
                    make().account.get()
                error = caught.exception
                self.assertEqual((error.code, error.status_code), ("bad_gateway_response", status))
                self.assertNotIsInstance(error, sdk.UncertainError)
                self.assertIn(words, error.message)


class Retries(unittest.TestCase):
    def test_of_a_send_have_one_key(self):
        with answering(
            reset,
            answer_with(500, refusal("internal_error")),
            answer_with(502, b"<h1>Bad gateway</h1>", Content_Type="text/html"),
            answer_with(503, refusal("outcome_unknown")),
            answer_with(429, {"statusCode": 429, "error": "rate_limit_exceeded", "message": "No.", "retryAfter": 0}),
            answer_with(200, {"id": "done"}),
        ) as (receiver, make):
            self.assertEqual(make(max_retries=5).sms.send(to="1", message="x"), {"id": "done"})
            keys = {headers["Idempotency-Key"] for _, headers, _ in receiver.received}
            self.assertEqual((len(receiver.received), len(keys)), (6, 1))
        with answering(reset) as (receiver, make):
            with self.assertRaises(sdk.UncertainError) as caught:
                make(max_retries=1).sms.send(to="1", message="x", idempotency_key="order-1")
            self.assertEqual((caught.exception.idempotency_key, caught.exception.attempts), ("order-1", 2))

    def test_are_not_made_after_a_refusal(self):
        for status in (400, 401, 402, 403, 404, 409, 413, 415):
            with answering(answer_with(status, refusal("some_code"))) as (receiver, make):
                with self.assertRaises(sdk.GatewayError) as caught:
                    make().sms.send(to="1", message="x")
                self.assertEqual((caught.exception.status_code, len(receiver.received)), (status, 1))

    def test_of_what_could_be_done_twice_are_made_only_where_it_was_not_done(self):
        for first, attempts in [
            (reset, 1),
            (answer_with(500, refusal("internal_error")), 1),
            (answer_with(503, refusal("outcome_unknown")), 1),
            (answer_with(503, b"busy"), 1),
            (answer_with(503, refusal("service_unavailable")), 2),
            (answer_with(429, {"error": "rate_limit_exceeded", "message": "No."}), 2),
        ]:
            with answering(first, answer_with(200, {})) as (receiver, make):
                with contextlib.suppress(sdk.UncertainError):
                    make().contacts.create(name="A")
                self.assertEqual(len(receiver.received), attempts)

    def test_wait_for_what_the_gateway_asks_for(self):
        waiting = answer_with(503, refusal("service_unavailable"), Retry_After="61")
        with answering(waiting) as (receiver, make):
            with self.assertRaises(sdk.UnavailableError) as caught:
                make().account.get()
            self.assertEqual((caught.exception.retry_after, len(receiver.received)), (61, 1))
        self.assertEqual(delay_before(1, 0.5, 2, 0.0), 2.0)
        self.assertEqual(delay_before(3, 0.5, None, 0.5), 1.0)
        self.assertEqual(delay_before(20, 0.5, None, 1.0), 8.0)

    def test_are_made_of_what_is_not_answered_in_time_or_breaks_off(self):
        def cut_off(handler):
            handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"id":')
            reset(handler)

        over = threading.Event()
        silent = lambda handler: over.wait(10)
        with answering(silent, cut_off, answer_with(200, {"id": "a"})) as (receiver, make):
            self.assertEqual(make(timeout_seconds=0.2).account.get(), {"id": "a"})
            self.assertEqual(len(receiver.received), 3)
            over.set()

    def test_of_1000_sends_whose_answers_are_lost_send_and_charge_once(self):
        gateway = sdk.Gateway(BULK_KEY, LOSSY_URL, retry_delay_seconds=0.001)
        before = gateway.account.get()["balance"]
        total = gateway.sms.history().page()["pagination"]["total"]
        send = lambda at: gateway.sms.send(to=f"+25670{at:03d}9999", message="Once")["id"]
        with ThreadPoolExecutor(16) as pool:
            ids = set(pool.map(send, range(1_000)))
        self.assertEqual(len(ids), 1_000)
        self.assertEqual(gateway.sms.history().page()["pagination"]["total"], total + 1_000)
        self.assertEqual(gateway.account.get()["balance"], before - 1_000 * 30)


class Signatures(unittest.TestCase):
    def vectors(self, file, *kinds):
        with open(os.path.join(CORPUS, file), encoding="utf-8") as opened:
            found = [each for each in json.load(opened) if each["kind"] in kinds]
        self.assertTrue(found)
        return found

    def bytes_of(self, given):
        return base64.b64decode(given["bodyBase64"])

    def test_of_requests_are_those_of_the_vectors(self):
        for vector in self.vectors("vectors.json", "request-signature"):
            given = vector["input"]
            signer = RequestSigner(given["secret"], lambda: int(given["timestamp"]))
            headers = signer.headers_for(given["method"], given["path"], self.bytes_of(given))
            self.assertEqual(headers["X-Signature"], vector["expect"]["signature"], vector["id"])

    def test_of_webhooks_are_those_of_the_vectors(self):
        for vector in self.vectors("webhook-vectors.json", "webhook-signature"):
            given = vector["input"]
            header = sdk.sign_webhook(self.bytes_of(given), given["secret"], int(given["t"]))
            self.assertEqual(header, vector["expect"]["header"], vector["id"])
        for vector in self.vectors("webhook-vectors.json", "webhook-verify-negative", "webhook-verify-boundary"):
            given = vector["input"]
            call = lambda: sdk.verify_webhook(
                given["body"], {"x-acme-signature": given["header"]}, given["secret"], now=given["now"]
            )
            if vector["expect"]["valid"]:
                self.assertEqual(call()["event"], "sms.sent")
            else:
                self.assertRaises(sdk.WebhookSignatureError, call)

    def test_are_found_whatever_the_service_is_called_and_checked_strictly(self):
        body = '{"event":"webhook.test","channel":"system","timestamp":"2026-12-01T09:30:00.000Z","data":{}}'
        now = 1_700_000_000
        header = sdk.sign_webhook(body, "whsec_abc", now)
        for headers in (
            {"X-ACME-Signature": header, "X-ACME-Delivery": "d-1"},
            [("x-acme-signature", header), ("x-acme-delivery", "d-1")],
            {"X-Hub-Signature": "sha1=ab", "X-Acme-Signature": header, "X-Acme-Delivery": "d-1"},
            # A rotation with an overlap (R446): the secret before it signs in a header of its own.
            {
                "X-Acme-Signature": sdk.sign_webhook(body, "whsec_newest", now),
                "X-Acme-Previous-Signature": header,
                "X-Acme-Delivery": "d-1",
            },
        ):
            event = sdk.verify_webhook(body.encode(), headers, ["whsec_new", "whsec_abc"], now=now)
            self.assertEqual(event["deliveryId"], "d-1")
        for broken, words in [
            ({}, "no header"),
            ({"x-a-signature": f"{header}\n"}, "no header"),
            ({"x-a-signature": header.upper()}, "no header"),
            ({"x-a-signature": sdk.sign_webhook(body, "whsec_abc", now - 301)}, "300 s away"),
            ({"x-a-signature": sdk.sign_webhook(body, "whsec_other", now)}, "does not fit"),
        ]:
            with self.assertRaisesRegex(sdk.WebhookSignatureError, words):
                sdk.verify_webhook(body, broken, "whsec_abc", now=now)
        with self.assertRaisesRegex(TypeError, "raw bytes"):
            sdk.verify_webhook(json.loads(body), {}, "whsec_abc")
        with self.assertRaisesRegex(ValueError, "secret is missing"):
            sdk.verify_webhook(body, {}, "")


if __name__ == "__main__":
    unittest.main()
