import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { World } from "./world.mjs";

const checkout = encodeURIComponent("1.1.xds:///checkout.example");
const payments = encodeURIComponent("1.1.xds:///payments.example");
const cluster = "envoy.config.cluster.v3.Cluster";
const rejected = `resource?client=${checkout}&type=${cluster}&name=checkout`;
const call = `route?client=${checkout}&method=%2Fshop.Checkout%2FPay`;
const text = (page, selector) => page.$eval(selector, (e) => e.textContent);

let w;
before(async () => { w = await World.start(300); });
after(() => w.stop());
afterEach(() => w.closePages()); // of a test that failed

// contains waits until an element has a text.
function contains(page, selector, want) {
  return page.waitForFunction((s, t) => [...document.querySelectorAll(s)].some((e) => e.textContent.includes(t)), { timeout: 15000 }, selector, want);
}

async function finish(page) {
  assert.deepEqual(page.trouble, []);
  await page.close();
}

test("the overview of a healthy program opens", async () => {
  const page = await w.open();
  assert.match(await text(page, ".verdict"), /^Healthy/);
  assert.match(await page.title(), /HEALTHY/);
  await contains(page, ".card", "xds:///checkout.example");
  assert.deepEqual(await w.violations(page), []);
  await finish(page);
});

test("the search finds one of many resources, on the server", async () => {
  const page = await w.open("resources");
  assert.match(await text(page, "#count"), /^3\d\d of 3\d\d/);
  assert.equal((await page.$$("tbody tr")).length, 100);
  await page.locator("a[rel=next]").click();
  await contains(page, ".pages", "Page 2 of 4");
  await page.type("#q", "SERVICE-000123");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.match(await text(page, "#count"), /^1 of/);
  await Promise.all([page.waitForNavigation(), page.locator("tbody a").click()]);
  assert.match(await text(page, "h1"), /service-000123$/);
  await finish(page);
});

test("an open page follows a change", async () => {
  const page = await w.open();
  await contains(page, "#live", "Live");
  await page.focus("nav a[href='./events']");
  await w.play("reject");
  await contains(page, ".verdict", "Degraded");
  assert.match(await text(page, ".verdict"), /Cluster checkout of 127\.0\.0\.1:\d+: invalid: .*lb_policy = MAGLEV/);
  await contains(page, ".event.REJECTED .what", "MAGLEV");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("href")), "./events");
  await w.play("endpoint");
  await contains(page, ".problem", "cannot be reached");
  // A refresh keeps open details open.
  await page.locator("#health summary").click();
  await w.play("break");
  await contains(page, ".verdict", "Broken");
  assert.equal(await page.$eval("#health details", (d) => d.open), true);
  await w.shot(page, "broken");
  await page.locator("#live").click();
  await w.play("recover");
  await new Promise((r) => setTimeout(r, 3000));
  assert.match(await text(page, ".verdict"), /^Broken/, "a paused page must not change");
  await page.locator("#live").click();
  await contains(page, ".verdict", "Healthy");
  await finish(page);
});

test("the time line grows while it is open", async () => {
  const page = await w.open("events");
  const count = Number((await text(page, "#count")).match(/^[\d,]+/)[0]);
  await w.play("reject");
  await page.waitForFunction((n) => Number(document.querySelector("#count").textContent.match(/^[\d,]+/)[0]) > n, {}, count);
  assert.match(await text(page, ".events li:first-child"), /REJECTED|RESPONSE/);
  await finish(page);
});

test("a rejected version is beside the one in use", async () => {
  await w.play("reject");
  const page = await w.open(rejected);
  await contains(page, ".diff ins.broken", "lb_policy: MAGLEV ← must be one of");
  assert.deepEqual(await page.$$eval(".diff del", (list) => list.map((e) => e.textContent.trim())), ["-     max_requests: 1024", "-   interval: \"10s\""]);
  assert.match(await text(page, "table"), /outlier_detection\.interval/);
  assert.deepEqual(await w.violations(page), []);
  await w.shot(page, "diff");
  await finish(page);
});

test("the chain marks the broken link", async () => {
  await w.play("endpoint");
  await w.play("break");
  const page = await w.open(`client?client=${payments}`);
  await contains(page, ".head.broken", "payments-v2");
  assert.deepEqual(await w.violations(page), []);
  await w.shot(page, "chain");
  await page.goto(w.base + `client?client=${checkout}`);
  await contains(page, ".endpoints", "TRANSIENT_FAILURE");
  assert.deepEqual(await w.violations(page), []);
  await w.shot(page, "target");
  await finish(page);
});

test("the route tester explains a call", async () => {
  const page = await w.open(`route?client=${checkout}`);
  await page.type("#method", "/shop.Checkout/Pay");
  await Promise.all([page.waitForNavigation(), page.locator(".tester button").click()]);
  await contains(page, ".outcome", "The call takes route 2");
  assert.deepEqual(await page.$$eval(".steps li", (list) => list.map((e) => e.className)), ["passed", "passed", "taken"]);
  await page.type("#header", "x-version: canary");
  await Promise.all([page.waitForNavigation(), page.locator(".tester button").click()]);
  await contains(page, ".outcome", "The call takes route 0");
  await contains(page, ".filters", "fixed_delay");
  await contains(page, ".command code", "xdsctl route");
  assert.deepEqual(await w.violations(page), []);
  await w.shot(page, "route");
  await finish(page);
});

test("no page has a violation of axe-core, in light and dark, on a desk and a phone", async () => {
  await w.play("reject");
  await w.play("server");
  for (const path of ["", "resources", rejected, `client?client=${checkout}`, `client?client=${encodeURIComponent("1.1.#server")}`, "servers", "events", call, "nothing"]) {
    for (const options of [{ scheme: "dark" }, { width: 360, height: 740 }]) {
      const page = await w.open(path, options);
      page.trouble = page.trouble.filter((t) => path !== "nothing" || !t.includes("404"));
      assert.deepEqual(await w.violations(page), [], `${path} ${JSON.stringify(options)}`);
      if (path === "") await w.shot(page, options.scheme === "dark" ? "dark" : "phone");
      await finish(page);
    }
  }
});

test("every page can be read without scripts", async () => {
  const page = await w.open("", { scripts: false });
  const paths = await page.$$eval("nav a, .card h3 a", (list) => list.map((a) => a.getAttribute("href")));
  assert.ok(paths.length > 6);
  for (const path of paths) {
    const answer = await page.goto(new URL(path, w.base).href);
    assert.equal(answer.status(), 200, path);
    assert.ok((await text(page, "main")).length > 40, path);
  }
  await page.goto(w.base + call);
  assert.match(await text(page, ".outcome"), /The call takes route/);
  await finish(page);
});

test("the keyboard reaches everything", async () => {
  const page = await w.open();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  const reached = await page.evaluate(() => [...document.querySelectorAll("a, button, input, select, summary")].every((e) => e.tabIndex >= 0));
  assert.ok(reached);
  await finish(page);
});

test("text of a control plane is not run", async () => {
  await w.play("hostile");
  const hostile = encodeURIComponent("1.1.\"><script>document.title='owned'</script><img src=x onerror=alert(1)>");
  for (const path of ["", "resources?q=script", `client?client=${hostile}`, "events"]) {
    const page = await w.open(path);
    await contains(page, "main", "<script>");
    assert.notEqual(await page.title(), "owned");
    await finish(page);
  }
});

test("another site cannot frame the page, and scripts in it cannot be inline", async () => {
  const page = await w.open();
  await page.evaluate(() => {
    const s = document.createElement("script");
    s.textContent = "document.title = 'owned'";
    document.body.append(s);
  });
  assert.notEqual(await page.title(), "owned");
  assert.ok(page.trouble.some((t) => t.includes("Content Security Policy")));
  await page.close();
});
